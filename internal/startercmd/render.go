package startercmd

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
	"unicode/utf8"

	"github.com/jobwait/jobwait/internal/plain"
	"github.com/jobwait/jobwait/internal/waits"
	"github.com/jobwait/jobwait/operation"
	"github.com/jobwait/jobwait/wire"
)

func clock(at time.Time) string { return at.UTC().Format("15:04:05") }

func stamp(at time.Time) string { return at.UTC().Format("2006-01-02 15:04:05Z") }

// progress is one line of a wait that is followed: how the last request was answered and what comes next. Equal lines mean
// that nothing changed that a person wants to see.
func progress(view wire.OperationView) string {
	return fmt.Sprintf("%-11s %-42s %-9s %s", view.Phase, lastAnswer(view.LastObservation), used(view), next(view))
}

func used(view wire.OperationView) string {
	return fmt.Sprintf("%d of %d", view.Counters.StatusRequestsUsed, view.Limits.MaxStatusRequests)
}

func next(view wire.OperationView) string {
	switch {
	case view.Escalation != nil:
		return "waiting for a person until " + stamp(view.Escalation.WindowEndsAt)
	case view.NextPollAt != nil:
		return fmt.Sprintf("next poll %s, %s", clock(*view.NextPollAt), view.DelaySource)
	case view.Phase == wire.PhaseClosed:
		return "closed"
	default:
		return "asking"
	}
}

// lastAnswer says how the provider answered, the HTTP fact apart from the job fact.
func lastAnswer(seen *wire.Observation) string {
	if seen == nil {
		return "not asked yet"
	}
	text := string(seen.Answer)
	switch {
	case seen.Answer == wire.AnswerTransportFailure:
		text = "no answer (" + seen.Detail + ")"
	case seen.Job != nil:
		text = fmt.Sprintf("HTTP %d, state %q", seen.HTTPStatus, seen.Job.RawState)
	case seen.HTTPStatus != 0:
		text = fmt.Sprintf("HTTP %d, %s", seen.HTTPStatus, seen.Answer)
	}
	if minimum := seen.Guidance.RetryAfterSeconds; minimum != nil {
		text += ", Retry-After " + strconv.FormatInt(*minimum, 10)
	}
	return text
}

// fields writes a table of names and values, made plain; rows without a value are left out.
type fields struct{ rows [][2]string }

func (f *fields) add(name, format string, args ...any) {
	if text := fmt.Sprintf(format, args...); text != "" {
		f.rows = append(f.rows, [2]string{name, plain.Text(text)})
	}
}

func (f *fields) write(to io.Writer) error {
	room := width(to)
	if room > 0 {
		room = max(room-fieldWidth, leastWidth-fieldWidth)
	}
	for _, row := range f.rows {
		value := strings.ReplaceAll(wrap(row[1], room), "\n", "\n"+strings.Repeat(" ", fieldWidth))
		if _, err := fmt.Fprintf(to, "%-*s%s\n", fieldWidth, row[0], value); err != nil {
			return err
		}
	}
	return nil
}

const fieldWidth = 14

// writeOutcome is how a wait ended, in words.
func writeOutcome(to io.Writer, o wire.Outcome) error {
	var f fields
	f.add("outcome", "%s", outcomeText(o))
	f.add("operation", "%s", o.OperationID)
	f.add("job", "%s at %s, account %s", o.ProviderJobID, o.Provider, o.Account)
	f.add("last state", "%s", o.RawState)
	f.add("result", "%s", resultText(o))
	f.add("provider says", "%s", strings.TrimSpace(o.ProviderError.Code+" "+o.ProviderError.Message))
	f.add("requests", "%d used%s%s", o.StatusRequestsUsed, waits.AnswersText(o.Answers), nudgesText(o.NudgesReceived))
	f.add("waited", "%s, from %s to %s", operation.Span(o.ClosedAt.Sub(o.OpenedAt)), stamp(o.OpenedAt), stamp(o.ClosedAt))
	f.add("decided by", "%s", o.DecidedBy)
	f.add("notes", "%s", strings.Join(o.Notes, ", "))
	f.add("audit", "%d entries, head %s", o.AuditEntries, o.AuditHead)
	return f.write(to)
}

func outcomeText(o wire.Outcome) string {
	text := string(o.Status)
	if o.Reason != "" {
		text += ": " + reasonText(o.Reason, o.Detail)
	}
	if o.Undecided {
		text += " (nobody decided)"
	}
	return text
}

func reasonText(reason wire.Reason, detail string) string {
	if detail == "" {
		return string(reason)
	}
	return fmt.Sprintf("%s (%s)", reason, detail)
}

func resultText(o wire.Outcome) string {
	var lines []string
	for _, name := range slices.Sorted(maps.Keys(o.Result)) {
		lines = append(lines, name+": "+o.Result[name])
	}
	if o.Partial {
		lines = append(lines, "partial: not the whole of what was asked for")
	}
	return strings.Join(lines, "\n")
}

func nudgesText(received int) string {
	switch received {
	case 0:
		return ""
	case 1:
		return ", 1 nudge"
	default:
		return fmt.Sprintf(", %d nudges", received)
	}
}

// writeTable aligns rows, the first of which is the heading. On a terminal that is too narrow for them, the last column is
// broken into several lines.
func writeTable(to io.Writer, rows [][]string) error {
	return alignRows(to, narrow(cells(rows), width(to)))
}

// cells makes rows plain.
func cells(rows [][]string) [][]string {
	out := make([][]string, len(rows))
	for i, row := range rows {
		for _, text := range row {
			out[i] = append(out[i], plain.Cell(text))
		}
	}
	return out
}

func alignRows(to io.Writer, rows [][]string) error {
	tabs := tabwriter.NewWriter(to, 0, 0, tableGap, ' ', 0)
	for _, row := range rows {
		_, _ = fmt.Fprintln(tabs, strings.Join(row, "\t")) // Flush has the error
	}
	return tabs.Flush()
}

const (
	tableGap = 2
	// leastColumn is the narrowest last column that is worth breaking for.
	leastColumn = 16
)

// narrow breaks the last cells of rows that are wider than so many columns; 0: of none.
func narrow(rows [][]string, columns int) [][]string {
	if columns == 0 || len(rows) == 0 {
		return rows
	}
	last := len(rows[0]) - 1
	room := columns
	for i := range last {
		widest := 0
		for _, row := range rows {
			widest = max(widest, utf8.RuneCountInString(row[i]))
		}
		room -= widest + tableGap
	}
	var out [][]string
	for _, row := range rows {
		for i, part := range strings.Split(wrap(row[last], max(room, leastColumn)), "\n") {
			if i == 0 {
				out = append(out, append(slices.Clone(row[:last]), part))
				continue
			}
			out = append(out, append(make([]string, last), part))
		}
	}
	return out
}
