package waittest

import (
	"errors"
	"log/slog"

	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/jobwait/jobwait/workflows"
)

// ReplayOptions configure how recorded histories are replayed.
type ReplayOptions struct {
	// Register registers the workflows. Nil means those of jobwait.
	Register func(worker.WorkflowReplayer)
	// DataConverter is the one that the histories were written with. Nil means the SDK's default.
	DataConverter converter.DataConverter
	// Interceptors run between the workflow code and the comparison, so that a test can simulate a change of the code.
	Interceptors []interceptor.WorkerInterceptor
}

func (o ReplayOptions) withDefaults() ReplayOptions {
	if o.Register == nil {
		o.Register = func(replayer worker.WorkflowReplayer) { workflows.Register(replayer) }
	}
	if o.DataConverter == nil {
		o.DataConverter = converter.GetDefaultDataConverter()
	}
	return o
}

// Replay runs today's workflow code against a recorded history as the SDK's replayer does: it sees the kinds and the
// order of commands, and neither how long a timer is nor what an activity is given.
func Replay(history *historypb.History, options ReplayOptions) error {
	options = options.withDefaults()
	return replay(history, options, options.Interceptors...)
}

// ReplayStrictly also holds every timer's length, every activity's input and time-outs, every value of a search attribute,
// every answer to an update and the result of the run against what was recorded, to the byte and to the nanosecond. All
// differences are joined into one error.
func ReplayStrictly(history *historypb.History, options ReplayOptions) error {
	options = options.withDefaults()
	recorded := newRecording(history, options.DataConverter)
	err := replay(history, options, append([]interceptor.WorkerInterceptor{recorded.interceptor()}, options.Interceptors...)...)
	return errors.Join(err, recorded.verdict())
}

func replay(history *historypb.History, options ReplayOptions, interceptors ...interceptor.WorkerInterceptor) error {
	replayer, err := worker.NewWorkflowReplayerWithOptions(worker.WorkflowReplayerOptions{
		DataConverter: options.DataConverter,
		FailureConverter: temporal.NewDefaultFailureConverter(temporal.DefaultFailureConverterOptions{
			DataConverter: options.DataConverter,
		}),
		Interceptors: interceptors,
		// A replay on a machine that is busy takes its time and is no deadlock.
		DisableDeadlockDetection: true,
	})
	if err != nil {
		return err
	}
	options.Register(replayer)
	quiet := log.NewStructuredLogger(slog.New(slog.DiscardHandler))
	return replayer.ReplayWorkflowHistoryWithOptions(quiet, history, worker.ReplayWorkflowHistoryOptions{
		OriginalExecution: original(history),
	})
}

// original is the execution that a history tells of: without it the replayed code would see another workflow id.
func original(history *historypb.History) workflow.Execution {
	if len(history.GetEvents()) == 0 {
		return workflow.Execution{}
	}
	started := history.GetEvents()[0].GetWorkflowExecutionStartedEventAttributes()
	return workflow.Execution{ID: started.GetWorkflowId(), RunID: started.GetOriginalExecutionRunId()}
}
