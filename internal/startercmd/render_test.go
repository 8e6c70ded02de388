package startercmd

import (
	"bytes"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jobwait/jobwait/internal/connect"
	"github.com/jobwait/jobwait/wire"
)

var noon = time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)

func at(t time.Time) *time.Time { return &t }

func TestProgressKeepsTheHTTPFactApartFromTheJob(t *testing.T) {
	t.Parallel()
	seconds := int64(120)
	limits := wire.Limits{MaxStatusRequests: 12}
	for _, test := range []struct {
		view wire.OperationView
		want string
	}{
		{
			wire.OperationView{Phase: wire.PhasePolling, Limits: limits, NextPollAt: at(noon.Add(5 * time.Second)), DelaySource: wire.DelayLocalBackoff},
			"polling     not asked yet                              0 of 12   next poll 12:00:05, local_backoff",
		},
		{
			wire.OperationView{
				Phase: wire.PhasePolling, Limits: limits, Counters: wire.Counters{StatusRequestsUsed: 3},
				NextPollAt: at(noon), DelaySource: wire.DelayProviderRetryAfter,
				LastObservation: &wire.Observation{
					Answer: wire.AnswerServerError, HTTPStatus: 503, Guidance: wire.Guidance{RetryAfterSeconds: &seconds},
				},
			},
			"polling     HTTP 503, server_error, Retry-After 120    3 of 12   next poll 12:00:00, provider_retry_after",
		},
		{
			wire.OperationView{
				Phase: wire.PhaseEscalated, Limits: limits, Counters: wire.Counters{StatusRequestsUsed: 4},
				LastObservation: &wire.Observation{Answer: wire.AnswerTransportFailure, Detail: wire.TransportTimeout},
				Escalation:      &wire.EscalationView{WindowEndsAt: noon.Add(24 * time.Hour)},
			},
			"escalated   no answer (timeout)                        4 of 12   waiting for a person until 2026-11-30 12:00:00Z",
		},
		{
			wire.OperationView{
				Phase: wire.PhaseClosed, Limits: limits, Counters: wire.Counters{StatusRequestsUsed: 5},
				LastObservation: &wire.Observation{Answer: wire.AnswerRead, HTTPStatus: 200, Job: &wire.JobFact{RawState: "succeeded"}},
			},
			`closed      HTTP 200, state "succeeded"                5 of 12   closed`,
		},
	} {
		require.Equal(t, test.want, progress(test.view))
	}
}

func TestOutcomeInWords(t *testing.T) {
	t.Parallel()
	outcome := wire.Outcome{
		Status: wire.StatusUnresolved, Reason: wire.ReasonContradictoryResponse, Detail: wire.DetailSuccessWithoutResult,
		Undecided: true, OperationID: "op-1", Provider: "demo-export", Account: "acct-42", ProviderJobID: "exp_1", RawState: "succeeded",
		Result: map[string]string{"b": "2", "a": "1"}, Partial: true, ProviderError: wire.ProviderError{Code: "E1", Message: "half"},
		Notes: []string{"one", "two"}, Counters: wire.Counters{StatusRequestsUsed: 12}, Answers: map[string]int{"503": 1, "200": 11},
		OpenedAt: noon, ClosedAt: noon.Add(3*time.Hour + 5*time.Minute), AuditEntries: 31, AuditHead: "sha256:ab",
	}
	var out bytes.Buffer
	require.NoError(t, writeOutcome(&out, outcome))
	require.Equal(t, `outcome       unresolved: contradictory_response (success_without_result) (nobody decided)
operation     op-1
job           exp_1 at demo-export, account acct-42
last state    succeeded
result        a: 1
              b: 2
              partial: not the whole of what was asked for
provider says E1 half
requests      12 used: 200 x11, 503 x1
waited        3h05m, from 2026-11-29 12:00:00Z to 2026-11-29 15:05:00Z
notes         one, two
audit         31 entries, head sha256:ab
`, out.String())
}

func TestExitCodes(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		err  error
		code int
		text string
	}{
		{nil, 0, ""},
		{outcomeOf(wire.StatusSucceeded), 0, ""},
		{outcomeOf(wire.StatusFailed), 3, ""},
		{outcomeOf(wire.StatusCancelled), 4, ""},
		{outcomeOf(wire.StatusExpired), 5, ""},
		{outcomeOf(wire.StatusUnresolved), 6, ""},
		{outcomeOf("new"), 1, "jobwait: error: outcome status \"new\" is not known to this version\n"},
		{outcomeError{exitDetached}, 130, ""},
		{errors.Join(errors.New("a"), errors.New("b")), 1, "jobwait: error: a\njobwait: error: b\n"},
		{usagef("no"), 2, "jobwait: error: no\njobwait: hint: --help shows what there is\n"},
		{fmt.Errorf("x: %w", hinted(errors.New("no"), "do %s", "this")), 1, "jobwait: error: x: no\njobwait: hint: do this\n"},
		{
			&connect.UnreachableError{Address: "here:1", Cause: errors.New("refused")}, 1,
			"jobwait: error: temporal at here:1: refused\njobwait: hint: start a server with `temporal server start-dev`, or set TEMPORAL_ADDRESS to the host:port of yours\n",
		},
	} {
		var stderr bytes.Buffer
		require.Equal(t, test.code, report(test.err, &stderr), "%v", test.err)
		require.Equal(t, test.text, stderr.String())
	}
}

func TestHintsCanBeCopied(t *testing.T) {
	t.Parallel()
	require.Equal(t, "go run ./starter", invocation("/tmp/go-build123/b001/exe/starter"))
	require.Equal(t, "starter", invocation("/usr/local/bin/starter"))
	require.Equal(t, "jobwait", invocation("jobwait.exe"))
}
