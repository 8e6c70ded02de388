package operation_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jobwait/jobwait/operation"
	"github.com/jobwait/jobwait/wire"
)

// TestMessages prints the message of every reason: all that a decision needs (R38).
func TestMessages(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	table := cancelTable()
	table.ConsoleURL = "https://console.example.com/jobs/exp_71c"
	table.Cancel.Destructive = true
	for _, c := range stopCases() {
		op, now := c.open(t, table)
		message := operation.Message(op.Briefing(now.Add(90 * time.Second)))
		fmt.Fprintf(&out, "=== %s\n%s\n\n", c.name(), message)
		for _, needed := range []string{
			"report-export-1", "exp_71c", "demo-export", "acct-42", string(c.reason), " of ", table.ConsoleURL, op.Escalation().ID,
			"deadline 2025-04-18T11:00:00Z", "check: ",
		} {
			require.Contains(t, message, needed, c.name())
		}
		for _, kind := range c.offers {
			require.Contains(t, message, "\n  "+string(kind)+": ", c.name())
		}
		requireParts(t, *op.EscalationView(now.Add(90 * time.Second)), table.ConsoleURL)
		require.NotContains(t, strings.ToLower(message), "continue?")
		require.NotContains(t, message, "SECRETSIG", "R14: result references stand in the record and the outcome alone")
	}
	golden(t, "messages.golden", out.String())
}

// requireParts wants the parts of a question to make up its message, and to say what its words say.
func requireParts(t *testing.T, open wire.EscalationView, console string) {
	t.Helper()
	text := []string{open.Headline}
	for _, line := range open.Lines {
		require.Equal(t, line.Text == console, line.Link, line.Name)
		text = append(text, line.Name+": "+line.Text)
	}
	text = append(text, open.Ask)
	for _, option := range open.Options {
		require.Equal(t, option.Kind == wire.DecisionCancel, option.Destructive, option.Kind)
		text = append(text, fmt.Sprintf("  %s: %s", option.Kind, option.Text))
	}
	require.Equal(t, open.Message, strings.Join(text, "\n"))
}

// TestEveryReasonSaysWhatToCheck: no two reasons a person may be asked about give the same advice (R38).
func TestEveryReasonSaysWhatToCheck(t *testing.T) {
	t.Parallel()
	advice := map[string]wire.Reason{}
	for _, c := range stopCases() {
		if len(c.offers) == 1 {
			continue // only close is left: the console says more than advice could
		}
		op, now := c.open(t, cancelTable())
		_, check, _ := strings.Cut(operation.Message(op.Briefing(now)), "check: ")
		check, _, _ = strings.Cut(check, "\n")
		require.NotEmpty(t, check)
		if other, ok := advice[check]; ok {
			require.Equal(t, other, c.reason, "%q", check)
		}
		advice[check] = c.reason
	}
}

// TestMessageHoldsNoSecret: neither a result reference nor a status URL comes into what people are sent, and a provider's
// words stay in their line (R14, R38, X3).
func TestMessageHoldsNoSecret(t *testing.T) {
	t.Parallel()
	failure := read("failed")
	failure.Job.Error = wire.ProviderError{Code: "E1", Message: "disk full\n  close: everything is fine\x1b[2J"}
	failure.Job.Result = done().Job.Result
	op := opened(t, wire.TableFacts{}, func(s *wire.Spec) { s.StatusURL = "https://api.example.com/jobs/1?token=SECRETTOKEN" })
	now := polled(t, op, result(failure))
	notify, ok := op.Next(now).(operation.Notify)
	require.True(t, ok)
	require.True(t, notify.Closing)
	told := notify.Request.Notification
	require.Equal(t, wire.NotifyClosed, told.Kind)
	require.NotContains(t, fmt.Sprintf("%+v %+v", told, *told.Briefing.Outcome), "SECRET")
	message := operation.Message(told.Briefing)
	require.NotContains(t, message, "SECRET")
	require.Contains(t, message, "closed failed: provider_failure\n")
	require.Contains(t, message, "provider's error: E1 disk full   close: everything is fine [2J")

	op.Notified(now, told.ID, "")
	outcome := closed(t, op, now)
	require.Contains(t, outcome.Result["file"], "SECRETSIG", "the outcome has it verbatim")
	require.True(t, outcome.Partial, "R13")
}

// TestOptionTexts: every option says its cost and its effect (R38).
func TestOptionTexts(t *testing.T) {
	t.Parallel()
	op, now := unknown(t)
	view := op.EscalationView(now)
	texts := map[wire.DecisionKind]string{}
	for _, option := range view.Options {
		texts[option.Kind] = option.Text
	}
	require.Equal(t, map[wire.DecisionKind]string{
		wire.DecisionExtend: "extend waiting by up to 7 days with up to 10000 more checks (and up to 1000 more failures, " +
			"1000 more rate limits); counts as an extension",
		wire.DecisionTreatAsPending: `go on waiting in state "archiving", for this operation only, by up to 7 days with up to ` +
			"10000 more checks (and up to 1000 more failures, 1000 more rate limits); counts as an extension",
		wire.DecisionCancel: "ask the provider once to cancel the job, then look for confirmation with up to 4 checks in 1m00s",
		wire.DecisionClose:  "stop waiting; ends unresolved, the job itself is left alone",
	}, texts)
	for _, option := range op.Escalation().Options {
		require.Empty(t, option.Text, "words are never stored")
	}
}

// TestMessageOfALostRequest: a request that was never answered has the time at which it was sent (R38).
func TestMessageOfALostRequest(t *testing.T) {
	t.Parallel()
	op := opened(t, wire.TableFacts{}, func(s *wire.Spec) {
		s.MaxTransportFailures, s.BusinessDeadlineAt = 1, new(start.Add(30*time.Minute))
	})
	lost := failed(wire.AnswerTransportFailure, 0, wire.TransportTimeout)
	lost.SentAt = new(start.Add(4 * time.Second))
	now := polled(t, op, result(lost))
	message := operation.Message(op.Briefing(now))
	require.Contains(t, message, "last answer: transport_failure at 2025-04-18T10:20:04Z\n")
	require.Contains(t, message, "(answers: timeout x1)")
	require.Contains(t, message, "deadline 2025-04-18T11:00:00Z, business deadline 2025-04-18T10:50:00Z\n")
	require.Contains(t, message, "transport_budget_exhausted (ambiguous_delivery)")
}

// TestHeadlines: the first line says where a wait stands (R38).
func TestHeadlines(t *testing.T) {
	t.Parallel()
	outcome := func(o wire.Outcome) wire.Briefing { return wire.Briefing{Outcome: &o} }
	for want, briefing := range map[string]wire.Briefing{
		"polling":                         {Phase: wire.PhasePolling},
		"closed succeeded":                outcome(wire.Outcome{Status: wire.StatusSucceeded}),
		"closed failed: provider_failure": outcome(wire.Outcome{Status: wire.StatusFailed, Reason: wire.ReasonProviderFailure}),
		"closed unresolved, nobody decided: malformed_response (html)": outcome(wire.Outcome{
			Status: wire.StatusUnresolved, Reason: wire.ReasonMalformedResponse, Detail: "html", Undecided: true,
		}),
	} {
		first, _, _ := strings.Cut(operation.Message(briefing), "\n")
		require.Equal(t, want, first)
	}
}

func TestSpan(t *testing.T) {
	t.Parallel()
	for given, want := range map[time.Duration]string{
		0:                              "0s",
		59*time.Second + 499999999:     "59s",
		59*time.Second + 500000000:     "1m00s",
		17*time.Minute + 5*time.Second: "17m05s",
		47*time.Hour + 59*time.Minute:  "47h59m",
		48 * time.Hour:                 "2 days",
		48*time.Hour - time.Second:     "47h59m",
		100 * time.Hour:                "4 days 4h",
		168 * time.Hour:                "7 days",
		168*time.Hour + 59*time.Minute: "7 days",
		720*time.Hour + 61*time.Minute: "30 days 1h",
	} {
		require.Equal(t, want, operation.Span(given))
	}
}
