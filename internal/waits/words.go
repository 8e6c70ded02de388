package waits

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/jobwait/jobwait/operation"
	"github.com/jobwait/jobwait/wire"
)

// AnswersText counts the kinds of answer for the end of a line, as in ": 200 x3, 503 x1". Empty: there was none.
func AnswersText(answers map[string]int) string {
	var parts []string
	for _, kind := range slices.Sorted(maps.Keys(answers)) {
		parts = append(parts, fmt.Sprintf("%s x%d", kind, answers[kind]))
	}
	if len(parts) == 0 {
		return ""
	}
	return ": " + strings.Join(parts, ", ")
}

// NoticeText says in words whether people could be told of a wait, and what stands in the way. telling is that of the same moment.
// Empty: there was nothing to tell.
func NoticeText(notice *wire.NoticeView, telling string) string {
	switch {
	case notice == nil:
		return ""
	case !notice.Pending:
		return operation.NoticeText(notice.Kind, notice.Detail)
	case telling != "":
		return fmt.Sprintf("telling people (%s): %s", notice.Kind, telling)
	default:
		return fmt.Sprintf("telling people (%s)", notice.Kind)
	}
}
