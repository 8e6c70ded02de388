package waits

import (
	"fmt"
	"strings"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/sdk/client"

	"github.com/jobwait/jobwait/wire"
)

// What a wait itself cannot know, because attempts leave nothing in its history, is what its server says of the activities
// under way.

// maxFailure bounds what is shown of a failure, in characters.
const maxFailure = 300

// Telling is what the last attempt to tell people came to and when the next one comes, where they are being told; empty: no attempt
// has failed.
func Telling(info *client.WorkflowExecutionDescription) string {
	for _, pending := range info.RawResponse.GetPendingActivities() {
		if failure := pending.GetLastFailure(); pending.GetActivityType().GetName() == wire.ActivityNotify && failure != nil {
			return shortened(failure.GetMessage()) + "; " + attemptText(pending)
		}
	}
	return ""
}

func attemptText(pending *workflowpb.PendingActivityInfo) string {
	switch next := pending.GetNextAttemptScheduleTime(); {
	case next != nil:
		return fmt.Sprintf("attempt %d at %s", pending.GetAttempt(), next.AsTime().Format(time.DateTime+"Z"))
	case pending.GetState() == enumspb.PENDING_ACTIVITY_STATE_STARTED:
		return fmt.Sprintf("attempt %d is under way", pending.GetAttempt())
	default:
		return fmt.Sprintf("attempt %d is due", pending.GetAttempt())
	}
}

// shortened keeps a failure to one line of bounded length.
func shortened(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if runes := []rune(text); len(runes) > maxFailure {
		text = string(runes[:maxFailure]) + "…"
	}
	return text
}

// HeldBack is until when and why the request under way is held back; empty: it is not.
func HeldBack(info *client.WorkflowExecutionDescription) string {
	for _, pending := range info.RawResponse.GetPendingActivities() {
		failure := pending.GetLastFailure()
		waiting := pending.GetState() == enumspb.PENDING_ACTIVITY_STATE_SCHEDULED
		if waiting && failure.GetApplicationFailureInfo().GetType() == wire.ErrorHeldBack {
			return failure.GetMessage()
		}
	}
	return ""
}

// Attempts counts those of the activities under way. It changes where the history does not.
func Attempts(info *client.WorkflowExecutionDescription) int {
	n := 0
	for _, pending := range info.RawResponse.GetPendingActivities() {
		n += int(pending.GetAttempt())
	}
	return n
}
