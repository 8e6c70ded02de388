package workflows

import (
	"fmt"

	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/workflow"

	"github.com/jobwait/jobwait/wire"
)

// While a fleet is upgraded, workers of two versions share its waits: a newer one may run an activity, or a run before, of a
// wait whose next workflow task an older one gets. What the older one does not know it would ignore, and act as its own
// version would; the newer one would then find a history that it would not have made, and would fail to replay. So what a
// workflow reads of other workers is read strictly, and what a newer one wrote is left to a newer one.

// get is the result of an activity or of a child; one that has none leaves it as it is. It panics where a newer version has
// written it: that fails the workflow task and nothing else, and the server gives the task to a worker again.
func get(ctx workflow.Context, future workflow.Future, result any) error {
	var raw converter.RawValue
	if err := future.Get(ctx, &raw); err != nil {
		return err
	}
	if data := raw.Payload().GetData(); len(data) > 0 {
		readOwn(data, result)
	}
	return nil
}

// readOwn reads what a worker wrote, or has taken, and panics as get does.
func readOwn(data []byte, into any) {
	if err := wire.DecodeOwn(data, into); err != nil {
		panic(fmt.Sprintf("left to a worker of a newer version, which wrote this: %s", err))
	}
}
