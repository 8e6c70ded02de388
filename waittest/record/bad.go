package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/jobwait/jobwait/waittest"
	"github.com/jobwait/jobwait/wire"
)

// change is one named change to a good history.
type change struct {
	name, of string
	apply    func(*historypb.History) error
}

func changes() []change {
	return []change{
		{"timer_longer", "success", func(h *historypb.History) error {
			return edit(h, enumspb.EVENT_TYPE_TIMER_STARTED, func(event *historypb.HistoryEvent) error {
				timeout := event.GetTimerStartedEventAttributes()
				timeout.StartToFireTimeout = durationpb.New(100 * timeout.GetStartToFireTimeout().AsDuration())
				return nil
			})
		}},
		{"timer_one_millisecond", "unknown_state_extended", func(h *historypb.History) error {
			return edit(h, enumspb.EVENT_TYPE_TIMER_STARTED, func(event *historypb.HistoryEvent) error {
				timeout := event.GetTimerStartedEventAttributes()
				timeout.StartToFireTimeout = durationpb.New(timeout.GetStartToFireTimeout().AsDuration() + time.Millisecond)
				return nil
			})
		}},
		{"activity_input", "success", func(h *historypb.History) error {
			return editNth(h, enumspb.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED, 2, func(event *historypb.HistoryEvent) error {
				payload := event.GetActivityTaskScheduledEventAttributes().GetInput().GetPayloads()[0]
				return substitute(&payload.Data, `"timeout_seconds":2`, `"timeout_seconds":9`)
			})
		}},
		{"activity_timeout", "provider_failure", func(h *historypb.History) error {
			return editNth(h, enumspb.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED, 2, func(event *historypb.HistoryEvent) error {
				event.GetActivityTaskScheduledEventAttributes().StartToCloseTimeout = durationpb.New(time.Hour)
				return nil
			})
		}},
		{"activity_heartbeat", "success", func(h *historypb.History) error {
			return editNth(h, enumspb.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED, 2, func(event *historypb.HistoryEvent) error {
				event.GetActivityTaskScheduledEventAttributes().HeartbeatTimeout = durationpb.New(5 * time.Second)
				return nil
			})
		}},
		{"search_attribute", "unknown_state_extended", func(h *historypb.History) error {
			return editNth(h, enumspb.EVENT_TYPE_UPSERT_WORKFLOW_SEARCH_ATTRIBUTES, 2, func(event *historypb.HistoryEvent) error {
				delete(event.GetUpsertWorkflowSearchAttributesEventAttributes().GetSearchAttributes().GetIndexedFields(), wire.AttributeReason)
				return nil
			})
		}},
		{"repeated_after_a_panic", "held_back_sent", func(h *historypb.History) error {
			return editNth(h, enumspb.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED, 2, func(event *historypb.HistoryEvent) error {
				policy := event.GetActivityTaskScheduledEventAttributes().GetRetryPolicy()
				policy.NonRetryableErrorTypes = policy.GetNonRetryableErrorTypes()[:2]
				return nil
			})
		}},
		{"outcome", "provider_failure", func(h *historypb.History) error {
			return edit(h, enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_COMPLETED, func(event *historypb.HistoryEvent) error {
				payload := event.GetWorkflowExecutionCompletedEventAttributes().GetResult().GetPayloads()[0]
				return substitute(&payload.Data, `"status":"failed"`, `"status":"succeeded"`)
			})
		}},
		{"answer_read_otherwise", "success", func(h *historypb.History) error {
			return editNth(h, enumspb.EVENT_TYPE_ACTIVITY_TASK_COMPLETED, 2, func(event *historypb.HistoryEvent) error {
				payload := event.GetActivityTaskCompletedEventAttributes().GetResult().GetPayloads()[0]
				return substitute(&payload.Data, `"category":"pending"`, `"category":"unknown"`)
			})
		}},
		{"update_answer", "unknown_state_extended", func(h *historypb.History) error {
			return edit(h, enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_UPDATE_COMPLETED, func(event *historypb.HistoryEvent) error {
				payload := event.GetWorkflowExecutionUpdateCompletedEventAttributes().GetOutcome().GetSuccess().GetPayloads()[0]
				return substitute(&payload.Data, `"accepted":true`, `"accepted":false`)
			})
		}},
		{"trusted_keys", "signed_keys_rotated", func(h *historypb.History) error {
			return editNth(h, enumspb.EVENT_TYPE_MARKER_RECORDED, 2, func(event *historypb.HistoryEvent) error {
				payload := event.GetMarkerRecordedEventAttributes().GetDetails()["result"].GetPayloads()[0]
				return substitute(&payload.Data, `"key_id":"ana-2"`, `"key_id":"ana-3"`)
			})
		}},
		{"activity_renamed", "success", func(h *historypb.History) error {
			return editNth(h, enumspb.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED, 2, func(event *historypb.HistoryEvent) error {
				event.GetActivityTaskScheduledEventAttributes().GetActivityType().Name = "jobwait.CancelAtProvider"
				return nil
			})
		}},
	}
}

// makeBad writes every changed history beside the complaint that strict replay raises about it, and whether plain replay
// notices anything.
func makeBad(dir string, progress io.Writer) error {
	for _, c := range changes() {
		if err := c.make(dir); err != nil {
			return fmt.Errorf("bad history %s: %w", c.name, err)
		}
		fmt.Fprintf(progress, "record: bad/%s\n", c.name)
	}
	return nil
}

func (c change) make(dir string) error {
	text, err := os.ReadFile(filepath.Join(dir, "good", c.of+".json"))
	if err != nil {
		return err
	}
	history, err := waittest.ReadHistory(bytes.NewReader(text))
	if err != nil {
		return err
	}
	if err := c.apply(history); err != nil {
		return err
	}
	complaint := waittest.ReplayStrictly(history, waittest.ReplayOptions{})
	if complaint == nil {
		return errors.New("strict replay does not notice the change")
	}
	bad := filepath.Join(dir, "bad")
	if err := write(bad, c.name, history); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(bad, c.name+".txt"), []byte(firstLine(complaint)+"\n"), 0o644)
}

func firstLine(err error) string {
	line, _, _ := strings.Cut(err.Error(), "\n")
	return line
}

func edit(h *historypb.History, kind enumspb.EventType, change func(*historypb.HistoryEvent) error) error {
	return editNth(h, kind, 1, change)
}

func editNth(h *historypb.History, kind enumspb.EventType, n int, change func(*historypb.HistoryEvent) error) error {
	for _, event := range h.GetEvents() {
		if event.GetEventType() != kind {
			continue
		}
		if n--; n == 0 {
			return change(event)
		}
	}
	return fmt.Errorf("the history has too few events of type %s", kind)
}

func substitute(data *[]byte, old, replacement string) error {
	if !bytes.Contains(*data, []byte(old)) {
		return fmt.Errorf("the payload does not contain %s", old)
	}
	*data = bytes.Replace(*data, []byte(old), []byte(replacement), 1)
	return nil
}
