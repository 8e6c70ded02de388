// Package jobwait waits for external jobs (an export, a batch inference, a CI run) as one bounded, durable, audited
// Temporal workflow per job, instead of a polling loop.
//
// A team that runs Temporal registers everything in a worker of its own with NewPlugin, or runs the stock worker of this
// module. A parent workflow waits with Await, has a job submitted with SubmitAndAwait, and a result carried to a destination with
// Fetch; any other Go program starts the same with Start, StartSubmit and StartFetch. Other languages start the workflow
// wire.WorkflowAwaitJob with a JSON spec, and workflows of other namespaces call the Nexus service wire.NexusService.
//
// The packages behind it: wire holds the spec, the outcome and every other name and type that lands in history;
// activities says what a worker knows and reaches; statetables reads what providers answer; waittest tests waits.
package jobwait

import (
	"context"
	"time"

	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/jobwait/jobwait/activities"
	"github.com/jobwait/jobwait/internal/telemetry"
	"github.com/jobwait/jobwait/workflows"
)

// Options configure what a worker knows and may reach. Only Tables is required.
type Options = activities.Options

// DefaultStopTimeout is the WorkerStopTimeout of a worker that sets none: how long it lets requests in flight finish when it
// stops. It covers specs with a request_timeout_seconds of up to 40. A request that is cut off counts as sent and as a transport
// failure.
const DefaultStopTimeout = 45 * time.Second

// NewPlugin returns a plugin that registers the workflows, their activities and the Nexus service wire.NexusService in a worker:
//
//	worker.New(c, "my-queue", worker.Options{Plugins: []worker.Plugin{plugin}})
//
// The worker may have other workflows, activities and plugins as well. In the options of a client, the plugin applies to every
// worker of that client; in the options of a replayer, it registers the workflows there.
//
// The plugin counts status requests by answer, escalations by reason and outcomes by status on the client's MetricsHandler, and
// sets WorkerStopTimeout to DefaultStopTimeout if the worker leaves it at 0. It does not register search attributes; waits use
// them if they are registered.
//
// The error names the first option that cannot be used.
func NewPlugin(options Options) (*temporal.SimplePlugin, error) {
	acts, err := activities.New(options)
	if err != nil {
		return nil, err
	}
	return temporal.NewSimplePlugin(temporal.SimplePluginOptions{
		Name:               "jobwait",
		WorkerInterceptors: []interceptor.WorkerInterceptor{telemetry.NewInterceptor()},
		ConfigureWorker: func(_ context.Context, options worker.PluginConfigureWorkerOptions) error {
			if options.WorkerOptions.WorkerStopTimeout == 0 {
				options.WorkerOptions.WorkerStopTimeout = DefaultStopTimeout
			}
			return nil
		},
		RunContextBefore: func(_ context.Context, options temporal.SimplePluginRunContextBeforeOptions) error {
			if options.WorkflowReplayer {
				workflows.Register(replayRegistry{options.Registry})
				return nil
			}
			workflows.Register(options.Registry)
			acts.Register(options.Registry)
			options.Registry.RegisterNexusService(nexusService(acts))
			return nil
		},
	})
}

// replayRegistry allows what a replayer does: it runs the plugin before each history, with the same registry.
type replayRegistry struct{ workflows.Registry }

func (r replayRegistry) RegisterWorkflowWithOptions(w any, options workflow.RegisterOptions) {
	options.DisableAlreadyRegisteredCheck = true
	r.Registry.RegisterWorkflowWithOptions(w, options)
}
