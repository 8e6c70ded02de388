package workflows_test

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
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

// landed lists every good history that has come to main, as sha256sum writes it. It only grows.
const landed = histories + "/LANDED"

// A history that landed protects waits that are open: it is neither recorded again nor taken away, whatever the code does by now.
func TestLandedHistoriesStayAsTheyAre(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(landed)
	require.NoError(t, err)
	listed := map[string]string{}
	for line := range strings.Lines(string(text)) {
		sum, name, found := strings.Cut(strings.TrimSpace(line), "  ")
		require.True(t, found, "%s: %q is not a sum, two spaces and a name", landed, line)
		require.NotContains(t, listed, name, "%s names it twice", landed)
		listed[name] = sum
	}
	have := sums(t)
	for name, sum := range listed {
		require.Equal(t, sum, have[name], "good/%s has landed and must stay as it was: restore it, and record what is new under a new name", name)
	}
	for name, sum := range have {
		require.Contains(t, listed, name, "%s has no line yet for this history; add\n%s  %s", landed, sum, name)
	}
}

// sums are the SHA-256 of the good histories by their file's name.
func sums(t *testing.T) map[string]string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(histories, "good", "*.json"))
	require.NoError(t, err)
	out := map[string]string{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		out[filepath.Base(file)] = fmt.Sprintf("%x", sha256.Sum256(text))
	}
	return out
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
		if !hasTimer(history) {
			continue // a message about an end waits for nothing
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			longer := waittest.ReplayOptions{Interceptors: []interceptor.WorkerInterceptor{&slowerClock{}}}
			require.ErrorContains(t, waittest.ReplayStrictly(history, longer), "timer of")
			require.NoError(t, waittest.Replay(history, longer), "plain replay does not see lengths")
		})
	}
}

func hasTimer(history *historypb.History) bool {
	return slices.ContainsFunc(history.GetEvents(), func(event *historypb.HistoryEvent) bool {
		return event.GetTimerStartedEventAttributes() != nil
	})
}

// A message about the end must reach the workflow that delivers it as it is, and that workflow must outlive the wait.
func TestStrictReplaySeesWhatIsHandedOver(t *testing.T) {
	t.Parallel()
	for complaint, change := range map[string]func(*historypb.StartChildWorkflowExecutionInitiatedEventAttributes){
		"child workflow TellPeople: recorded ": func(child *historypb.StartChildWorkflowExecutionInitiatedEventAttributes) {
			data := &child.GetInput().GetPayloads()[0].Data
			*data = bytes.Replace(*data, []byte("ana@example.com"), []byte("ben@example.com"), 1)
		},
		"parent close policy Terminate was recorded, the replay asked for Abandon": func(child *historypb.StartChildWorkflowExecutionInitiatedEventAttributes) {
			child.ParentClosePolicy = enumspb.PARENT_CLOSE_POLICY_TERMINATE
		},
	} {
		history := recorded(t, "good")["told_close"]
		for _, event := range history.GetEvents() {
			if child := event.GetStartChildWorkflowExecutionInitiatedEventAttributes(); child != nil {
				change(child)
			}
		}
		require.ErrorContains(t, waittest.ReplayStrictly(history, waittest.ReplayOptions{}), complaint)
		require.NoError(t, waittest.Replay(history, waittest.ReplayOptions{}), "plain replay is blind to it")
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
