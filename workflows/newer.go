package workflows

import (
	"fmt"

	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/workflow"

	"github.com/jobwait/jobwait/wire"
)

// While a fleet is upgraded, workers of two versions share its waits: a newer one may run an activity, or an earlier run, of a wait
// whose next workflow task an older one gets. The older one would ignore what it does not know and act as its own version does. The
// newer one would then find a history that it would not have produced, and its replay would fail. So workflows decode strictly what
// other workers wrote, and leave what a newer version wrote to a newer version.

// get reads the result of an activity or of a child; if there is none, result stays as it is. It panics if a newer version wrote
// the result: that fails only the workflow task, which the server then gives to a worker again.
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

// readOwn decodes what a worker wrote or has accepted. It panics as get does.
func readOwn(data []byte, into any) {
	if err := wire.DecodeOwn(data, into); err != nil {
		panic(fmt.Sprintf("left to a worker of a newer version, which wrote this: %s", err))
	}
}
