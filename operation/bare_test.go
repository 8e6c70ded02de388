package operation_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jobwait/jobwait/operation"
	"github.com/jobwait/jobwait/wire"
)

const urlSecret = "SECRETQUERY"

// asksForJob is a submission that asks which job it made.
func asksForJob(t *testing.T) (*operation.Operation, time.Time) {
	t.Helper()
	prepared, err := operation.PrepareSubmission(submitSpec(), start, operation.Knowledge{TellDecisions: true},
		wire.SubmissionFacts{Fingerprint: "sha256:f1", Idempotency: wire.IdempotencyNone})
	require.NoError(t, err)
	op := operation.Open(prepared, firstRun, start, start)
	_, now := nextSubmit(t, op, start)
	op.SubmitAnswered(now, submitResult(wire.SubmitAmbiguous, 500))
	return op, now.Add(time.Hour)
}

// shown is everything that may be looked at: the audit, the query, and what people are told.
func shown(t *testing.T, op *operation.Operation, now time.Time) (string, []wire.Notification) {
	t.Helper()
	var told []wire.Notification
	for notice, ok := op.Next(now).(operation.Notify); ok; notice, ok = op.Next(now).(operation.Notify) {
		told = append(told, notice.Request.Notification)
		op.Notified(now, notice.Request.Notification.ID, "")
	}
	text, err := json.Marshal([]any{op.Audit(), op.View(now), told})
	require.NoError(t, err)
	return string(text), told
}

// TestAttachedURLIsShownWithoutItsQuery: the job is asked about at the whole URL; nobody is shown its query (R14).
func TestAttachedURLIsShownWithoutItsQuery(t *testing.T) {
	t.Parallel()
	const whole, bare = "https://api.example.com/x%2Fy?sig=" + urlSecret + "&t=1#" + urlSecret, "https://api.example.com/x%2Fy"
	op, now := asksForJob(t)
	_, refusal := op.Decide(now, submitDecision(op, wire.DecisionAttach, func(d *wire.Decision) {
		d.ProviderJobID, d.StatusURL, d.Comment = "exp_9", whole, `it is "status_url":"`+bare+`"`
	}), "")
	require.Nil(t, refusal)
	applied := entriesOf(op, wire.EventDecisionApplied)
	require.Len(t, applied, 1)
	var noted wire.Decision
	require.NoError(t, json.Unmarshal(applied[0].Decision, &noted))
	require.Equal(t, bare, noted.StatusURL)
	require.Equal(t, `it is "status_url":"`+bare+`"`, noted.Comment)
	require.Zero(t, operation.VerifyChain(op.Audit().Entries[0].Prev, op.Audit().Entries))

	require.Equal(t, whole, awaiting(t, op, now).StatusURL, "the provider may need it")
	op, now = asksForJob(t)
	shown(t, op, now)
	_, refusal = op.Decide(now, submitDecision(op, wire.DecisionAttach, func(d *wire.Decision) { d.ProviderJobID, d.StatusURL = "exp_9", whole }), "")
	require.Nil(t, refusal)
	text, told := shown(t, op, now)
	require.NotContains(t, text, urlSecret)
	require.Len(t, told, 1)
	require.Equal(t, bare, told[0].Briefing.Decided.Decision.StatusURL)
}

// TestRefusedURLIsShownWithoutItsSecrets: a decision that is refused hides the same, for whatever reason it is.
func TestRefusedURLIsShownWithoutItsSecrets(t *testing.T) {
	t.Parallel()
	const query, user = "https://api.example.com/x?sig=" + urlSecret, "https://me:" + urlSecret + "@api.example.com/x"
	plain := func(kind wire.DecisionKind, url string, changes ...func(*wire.Decision)) func(*operation.Operation) string {
		return func(op *operation.Operation) string {
			return string(submitDecision(op, kind, func(d *wire.Decision) {
				d.StatusURL, d.ProviderJobID = url, "exp_9"
				for _, change := range changes {
					change(d)
				}
			}))
		}
	}
	written := func(from, to string) func(*operation.Operation) string {
		return func(op *operation.Operation) string {
			return strings.Replace(plain(wire.DecisionAttach, query)(op), from, to, 1)
		}
	}
	for name, payload := range map[string]func(*operation.Operation) string{
		"a user":              plain(wire.DecisionAttach, user),
		"a user, and no host": plain(wire.DecisionAttach, "https:me:"+urlSecret+"@api.example.com"),
		"no URL":              plain(wire.DecisionAttach, "https://me:"+urlSecret+"@api.example.com:port/%zz"),
		"relative":            plain(wire.DecisionAttach, "/x?sig="+urlSecret),
		"another kind":        plain(wire.DecisionClose, query),
		"another question":    plain(wire.DecisionAttach, query, func(d *wire.Decision) { d.EscalationID = "another" }),
		"incomplete":          plain(wire.DecisionAttach, query, func(d *wire.Decision) { d.Comment = "" }),
		"long":                plain(wire.DecisionAttach, query, func(d *wire.Decision) { d.Seconds, d.Comment = -1, strings.Repeat("x", 2000) }),
		"long URL":            plain(wire.DecisionAttach, query+strings.Repeat(urlSecret, 1000)),
		"unknown name":        written(`"status_url"`, `"statusUrl"`),
		"wrong type":          written(`"seconds":0`, `"seconds":"0"`),
		"escaped":             written(`"seconds":0,`, `"seconds":"0","status_url":"https:\/\/me:`+urlSecret+`@api.example.com\/x\"`+urlSecret+`",`),
		"no JSON":             written(`{`, ``),
		"too long to be read": plain(wire.DecisionAttach, query, func(d *wire.Decision) { d.Comment = strings.Repeat("x", 17<<10) }),
		"name in escapes":     written(`"status_url"`, `"status\u005furl"`),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			op, now := asksForJob(t)
			if name == "name in escapes" || name == "long" { // one that would be accepted is refused as lost
				_, refusal := op.Decide(now, submitDecision(op, wire.DecisionClose, func(d *wire.Decision) { d.DecisionID = "d-0" }), "")
				require.Nil(t, refusal)
			}
			_, refusal := op.Decide(now, []byte(payload(op)), "")
			require.NotNil(t, refusal)
			require.NotContains(t, refusal.Error(), urlSecret)
			require.Len(t, entriesOf(op, wire.EventDecisionRefused), 1)
			text, _ := shown(t, op, now)
			require.NotContains(t, text, urlSecret)
		})
	}
}

// TestAttachedParamIsShownWithoutItsQuery: a param may say where the result is, and is then hidden as a status URL is (R14).
func TestAttachedParamIsShownWithoutItsQuery(t *testing.T) {
	t.Parallel()
	params := map[string]string{
		"region": "eu?", "result_url": "https://api.example.com/x?sig=" + urlSecret, "other": "https://me:" + urlSecret + "@api.example.com/y",
	}
	bare := map[string]string{"region": "eu?", "result_url": "https://api.example.com/x", "other": "https://api.example.com/y"}
	op, now := asksForJob(t)
	shown(t, op, now)
	attach := submitDecision(op, wire.DecisionAttach, func(d *wire.Decision) {
		d.ProviderJobID, d.StatusURL, d.Params = "exp_9", "https://api.example.com/exp_9", params
	})
	_, refusal := op.Decide(now, []byte(strings.Replace(string(attach), `"seconds":0`, `"seconds":"0"`, 1)), "")
	require.NotNil(t, refusal)
	_, refusal = op.Decide(now, attach, "")
	require.Nil(t, refusal)
	text, told := shown(t, op, now)
	require.NotContains(t, text, urlSecret)
	require.Equal(t, bare, told[len(told)-1].Briefing.Decided.Decision.Params)
	var noted wire.Decision
	require.NoError(t, json.Unmarshal(entriesOf(op, wire.EventDecisionApplied)[0].Decision, &noted))
	require.Equal(t, bare, noted.Params)
	require.Zero(t, operation.VerifyChain(op.Audit().Entries[0].Prev, op.Audit().Entries))

	op, now = asksForJob(t)
	_, refusal = op.Decide(now, attach, "")
	require.Nil(t, refusal)
	require.Equal(t, params, awaiting(t, op, now).Params, "the wait needs them")
}

// TestDecisionsWithoutAStatusURLStandAsSent: what names no status URL stands in the audit as it always did.
func TestDecisionsWithoutAStatusURLStandAsSent(t *testing.T) {
	t.Parallel()
	const link = "see https://api.example.com/x?sig=1#2"
	op, now := asksForJob(t)
	_, refusal := op.Decide(now, []byte(`{"comment": "`+link+`", "no": `), "")
	require.NotNil(t, refusal)
	_, refusal = op.Decide(now, submitDecision(op, wire.DecisionAttach, func(d *wire.Decision) {
		d.ProviderJobID, d.StatusURL, d.Comment = "exp_9", "https://api.example.com/x", link
	}), "")
	require.Nil(t, refusal)
	require.JSONEq(t, `"{\"comment\": \"`+link+`\", \"no\": "`, string(entriesOf(op, wire.EventDecisionRefused)[0].Decision))
	require.Contains(t, string(entriesOf(op, wire.EventDecisionApplied)[0].Decision), `"comment":"`+link+`"`)
}
