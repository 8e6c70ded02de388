package workflows

import (
	"go.temporal.io/sdk/workflow"

	"github.com/jobwait/jobwait/wire"
)

// Registry is the part that a worker, a replayer and a test environment have in common.
type Registry interface {
	RegisterWorkflowWithOptions(w any, options workflow.RegisterOptions)
}

// Register registers every workflow of the product under its stable name.
func Register(registry Registry) {
	registry.RegisterWorkflowWithOptions(AwaitJob, workflow.RegisterOptions{Name: wire.WorkflowAwaitJob})
	registry.RegisterWorkflowWithOptions(FetchResult, workflow.RegisterOptions{Name: wire.WorkflowFetchResult})
	registry.RegisterWorkflowWithOptions(SubmitAndAwait, workflow.RegisterOptions{Name: wire.WorkflowSubmitAndAwait})
	registry.RegisterWorkflowWithOptions(TellPeople, workflow.RegisterOptions{Name: wire.WorkflowTellPeople})
}
