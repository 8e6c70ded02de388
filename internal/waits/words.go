package waits

import (
	"fmt"

	"github.com/jobwait/jobwait/operation"
	"github.com/jobwait/jobwait/wire"
)

// AnswersText is operation.AnswersText for the end of a line, after a colon; empty if there was no answer.
func AnswersText(answers map[string]int) string {
	if len(answers) == 0 {
		return ""
	}
	return ": " + operation.AnswersText(answers)
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
