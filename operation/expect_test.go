package operation_test

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jobwait/jobwait/wire"
)

// expect is one value that a script must come to. It is written by hand and never rewritten.
type expect struct{ line line }

func (e expect) check(t *testing.T, p *playedScript) {
	t.Helper()
	where := fmt.Sprintf("line %d: %s\n%s", e.line.number, e.line.text, p.story())
	switch l := e.line; l.word(0) {
	case "sent":
		e.checkCount(t, len(p.sent), where)
	case "cancels":
		e.checkCount(t, len(p.cancels), where)
	case "openings":
		e.checkCount(t, len(p.openings), where)
	case "submitted":
		e.checkCount(t, len(p.submits), where)
	case "waits":
		e.checkCount(t, len(p.waits), where)
	case "send":
		e.checkSend(t, p, where)
	case "submit":
		e.checkSubmit(t, p, where)
	case "wait":
		e.checkWait(t, p, where)
	case "proposals":
		e.checkCount(t, len(p.proposals), where)
	case "opening":
		e.checkOpening(t, p.openings, where)
	case "proposal":
		e.checkOpening(t, p.proposals, where)
	case "entry":
		require.True(t, slices.ContainsFunc(p.entries, e.matches), where)
	case "entries":
		found := slices.Collect(func(yield func(wire.Entry) bool) {
			for _, entry := range p.entries {
				if (expect{l.rest(1)}).matches(entry) && !yield(entry) {
					return
				}
			}
		})
		e.checkCount(t, len(found), where)
	case "no":
		require.False(t, slices.ContainsFunc(p.entries, expect{l.rest(1)}.matches), where)
	case "outcome":
		require.Equal(t, l.word(1), string(p.outcome.Status), where)
		e.checkFields(t, p.outcomeFields(), where)
	default:
		require.FailNow(t, "unknown expectation", where)
	}
}

func (e expect) checkCount(t *testing.T, got int, where string) {
	t.Helper()
	require.Equal(t, number(t, e.line.word(1)), got, where)
}

// checkSend holds a request between two times from the start: "send 2 from=+60s before=+70s".
func (e expect) checkSend(t *testing.T, p *playedScript, where string) {
	t.Helper()
	n := number(t, e.line.word(1))
	require.GreaterOrEqual(t, len(p.sent), n, where)
	e.checkBetween(t, p.sent[n-1].at, where)
}

func (e expect) checkBetween(t *testing.T, at time.Time, where string) {
	t.Helper()
	after := at.Sub(start)
	if from, ok := e.line.values["from"]; ok {
		require.GreaterOrEqual(t, after, duration(t, from), where)
	}
	if before, ok := e.line.values["before"]; ok {
		require.Less(t, after, duration(t, before), where)
	}
}

func (e expect) checkOpening(t *testing.T, openings []wire.Escalation, where string) {
	t.Helper()
	n := number(t, e.line.word(1))
	require.GreaterOrEqual(t, len(openings), n, where)
	open := openings[n-1]
	var options []string
	for _, kind := range kinds(open.Options) {
		options = append(options, string(kind))
	}
	e.checkFields(t, map[string]string{
		"reason": string(open.Reason), "detail": open.Detail, "options": strings.Join(options, ","), "id": open.ID,
		"at": "+" + open.OpenedAt.Sub(start).String(), "until": "+" + open.WindowEndsAt.Sub(start).String(),
	}, where)
}

func (e expect) checkFields(t *testing.T, got map[string]string, where string) {
	t.Helper()
	for name, want := range e.line.values {
		require.Contains(t, got, name, where)
		require.Equal(t, want, got[name], "%s of %s", name, where)
	}
}

// matches an entry of the audit: "entry decision_refused reason=not_offered detail=~seconds".
func (e expect) matches(entry wire.Entry) bool {
	if string(entry.Event) != e.line.word(1) {
		return false
	}
	got := map[string]string{
		"reason": entry.Reason, "detail": entry.Detail, "source": string(entry.DelaySource), "state": entry.RawState,
	}
	for name, want := range e.line.values {
		if part, ok := strings.CutPrefix(want, "~"); ok && strings.Contains(got[name], part) {
			continue
		}
		if got[name] != want {
			return false
		}
	}
	return true
}

// outcomeFields are those of the operation, and of its submission where it is one.
func (p *playedScript) outcomeFields() map[string]string {
	fields := outcomeFields(*p.outcome)
	if p.submitted != nil {
		maps.Copy(fields, submittedFields(*p.submitted))
	}
	return fields
}

func outcomeFields(o wire.Outcome) map[string]string {
	return map[string]string{
		"reason": string(o.Reason), "detail": o.Detail, "undecided": strconv.FormatBool(o.Undecided), "decided_by": o.DecidedBy,
		"raw_state": o.RawState, "file": o.Result["file"], "partial": strconv.FormatBool(o.Partial),
		"notes": strings.Join(o.Notes, ","), "used": strconv.Itoa(o.StatusRequestsUsed),
		"failures": strconv.Itoa(o.TransportFailuresUsed), "limited": strconv.Itoa(o.RateLimitedUsed),
		"extensions": strconv.Itoa(o.ExtensionsUsed), "nudges": strconv.Itoa(o.NudgesReceived), "error": strings.TrimSpace(o.ProviderError.Code + " " + o.ProviderError.Message),
	}
}

// outcomeLine shows what an outcome says beyond its defaults.
func (p *playedScript) outcomeLine() string {
	fields := p.outcomeFields()
	text := string(p.outcome.Status)
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if value := fields[name]; value != "" && value != "false" && value != "0" {
			text += " " + name + "=" + strconv.Quote(value)
		}
	}
	return text
}
