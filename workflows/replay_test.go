package workflows_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/workflow"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/jobwait/jobwait/waittest"
	"github.com/jobwait/jobwait/wire"
)

const histories = "testdata/histories"

// W1: the same timers to the nanosecond, the same inputs, the same answers, the same outcome.
func TestGoodHistoriesReplayStrictly(t *testing.T) {
	t.Parallel()
	good := recorded(t, "good")
	require.GreaterOrEqual(t, len(good), 10)
	for name, history := range good {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.NoError(t, waittest.ReplayStrictly(history, waittest.ReplayOptions{}))
		})
	}
}

func TestBadHistoriesRaiseTheirComplaint(t *testing.T) {
	t.Parallel()
	bad := recorded(t, "bad")
	require.GreaterOrEqual(t, len(bad), 6)
	plainAccepts := 0
	for name, history := range bad {
		complaint, err := os.ReadFile(filepath.Join(histories, "bad", name+".txt"))
		require.NoError(t, err, name)
		err = waittest.ReplayStrictly(history, waittest.ReplayOptions{})
		require.ErrorContains(t, err, strings.TrimSpace(string(complaint)), name)
		if waittest.Replay(history, waittest.ReplayOptions{}) == nil {
			plainAccepts++
		}
	}
	require.GreaterOrEqual(t, plainAccepts, 3, "plain replay is expected to be blind to lengths, inputs and results")
}

// The guard itself: a delay that is one millisecond longer in the code fails every good history.
func TestOneMillisecondFailsEveryGoodHistory(t *testing.T) {
	t.Parallel()
	for name, history := range recorded(t, "good") {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			longer := waittest.ReplayOptions{Interceptors: []interceptor.WorkerInterceptor{&slowerClock{}}}
			require.ErrorContains(t, waittest.ReplayStrictly(history, longer), "timer of")
			require.NoError(t, waittest.Replay(history, longer), "plain replay does not see lengths")
		})
	}
}

// R2, R24: a request that is sent once must not become one that Temporal repeats, nor lose the time-out that ends with the
// deadline.
func TestStrictReplaySeesAttemptsAndDroppedTimeouts(t *testing.T) {
	t.Parallel()
	for complaint, change := range map[string]func(*historypb.ActivityTaskScheduledEventAttributes){
		"at most 3 attempts were recorded, the replay asked for 1": func(scheduled *historypb.ActivityTaskScheduledEventAttributes) {
			if scheduled.GetActivityType().GetName() == wire.ActivityPollStatus {
				scheduled.RetryPolicy.MaximumAttempts = 3
			}
		},
		"schedule-to-start time-out of 5s was recorded, the replay asked for 0s": func(scheduled *historypb.ActivityTaskScheduledEventAttributes) {
			if scheduled.GetActivityType().GetName() == wire.ActivityNotify {
				scheduled.ScheduleToStartTimeout = durationpb.New(5 * time.Second)
			}
		},
	} {
		history := recorded(t, "good")["unknown_state_extended"]
		for _, event := range history.GetEvents() {
			if scheduled := event.GetActivityTaskScheduledEventAttributes(); scheduled != nil {
				change(scheduled)
			}
		}
		require.ErrorContains(t, waittest.ReplayStrictly(history, waittest.ReplayOptions{}), complaint)
		require.NoError(t, waittest.Replay(history, waittest.ReplayOptions{}), "plain replay is blind to it")
	}
}

func recorded(t *testing.T, kind string) map[string]*historypb.History {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(histories, kind, "*.json"))
	require.NoError(t, err)
	out := map[string]*historypb.History{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		history, err := waittest.ReadHistory(bytes.NewReader(text))
		require.NoError(t, err, file)
		out[strings.TrimSuffix(filepath.Base(file), ".json")] = history
	}
	return out
}

// slowerClock plays workflow code whose every delay is a millisecond longer.
type slowerClock struct {
	interceptor.WorkerInterceptorBase
}

func (*slowerClock) InterceptWorkflow(_ workflow.Context, next interceptor.WorkflowInboundInterceptor) interceptor.WorkflowInboundInterceptor {
	inbound := &slowerInbound{}
	inbound.Next = next
	return inbound
}

type slowerInbound struct {
	interceptor.WorkflowInboundInterceptorBase
}

func (i *slowerInbound) Init(next interceptor.WorkflowOutboundInterceptor) error {
	outbound := &slowerOutbound{}
	outbound.Next = next
	return i.Next.Init(outbound)
}

type slowerOutbound struct {
	interceptor.WorkflowOutboundInterceptorBase
}

func (o *slowerOutbound) NewTimerWithOptions(ctx workflow.Context, length time.Duration, options workflow.TimerOptions) workflow.Future {
	return o.Next.NewTimerWithOptions(ctx, length+time.Millisecond, options)
}
