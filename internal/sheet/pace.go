package sheet

import (
	"cmp"
	"fmt"

	"github.com/jobwait/jobwait/operation"
	"github.com/jobwait/jobwait/statetables"
)

// paceText is the schedule that a spec gets which says nothing of its own.
func paceText(schedule statetables.ScheduleDoc) string {
	base := valueOr(schedule.BaseDelaySeconds, operation.DefaultBaseDelaySeconds)
	most := max(valueOr(schedule.MaxDelaySeconds, operation.DefaultMaxDelaySeconds), base)
	text := fmt.Sprintf("backoff from %s, doubled with each request, up to %s", span(base), span(most))
	if first := schedule.InitialDelaySeconds; first != nil {
		text = fmt.Sprintf("first look after %s; ", span(*first)) + text
	}
	timeout := valueOr(schedule.RequestTimeoutSeconds, operation.DefaultRequestTimeoutSeconds)
	return text + fmt.Sprintf("; a request is given up after %s", span(timeout))
}

func valueOr(value *int, otherwise int) int { return *cmp.Or(value, &otherwise) }
