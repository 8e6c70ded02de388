package workflows_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"

	"github.com/jobwait/jobwait/operation"
	"github.com/jobwait/jobwait/wire"
)

func fetchSpec() wire.FetchSpec {
	return wire.FetchSpec{
		OperationID: "report-1", Provider: "demo-export", Account: "acct-42", ProviderJobID: "exp_71c", ResultName: "file",
		URL: "https://files.example.com/1.csv", Destination: "reports", Key: "2026/1.csv", MaxBytes: 1000,
		DeadlineAt: start.Add(time.Hour),
	}
}

// carrier is a world whose fetches are played by a function; n counts them from 1.
func carrier(t *testing.T, carry func(n int, request wire.FetchRequest) (wire.FetchResponse, error)) (*world, *[]wire.FetchRequest) {
	t.Helper()
	w, asked := newWorld(t, nil), new([]wire.FetchRequest)
	w.RegisterActivityWithOptions(func(_ context.Context, request wire.FetchRequest) (wire.FetchResponse, error) {
		*asked = append(*asked, request)
		return carry(len(*asked), request)
	}, activity.RegisterOptions{Name: wire.ActivityFetchResult})
	return w, asked
}

func (w *world) fetch(spec any) wire.FetchOutcome {
	w.t.Helper()
	w.ExecuteWorkflow(wire.WorkflowFetchResult, spec)
	require.NoError(w.t, w.GetWorkflowError())
	var outcome wire.FetchOutcome
	require.NoError(w.t, w.GetWorkflowResult(&outcome))
	return outcome
}

func carriedAll(spec wire.FetchSpec) wire.FetchResponse {
	return wire.FetchResponse{Outcome: operation.FetchEnded(spec, wire.FetchDone, "", "")}
}

func broke(detail string) error {
	return temporal.NewApplicationError(detail, wire.ErrorFetchInterrupted)
}

// Attempts that break are repeated, and the outcome is the answer of the one that does not.
func TestFetchIsRepeated(t *testing.T) {
	t.Parallel()
	w, asked := carrier(t, func(n int, request wire.FetchRequest) (wire.FetchResponse, error) {
		if n < 3 {
			return wire.FetchResponse{}, broke(wire.TransportReset)
		}
		return carriedAll(request.Spec), nil
	})
	outcome := w.fetch(fetchSpec())
	require.Equal(t, wire.FetchDone, outcome.Status)
	require.Len(t, *asked, 3)
	require.True(t, outcome.ClosedAt.After(start))
}

// What never gets through ends with what broke last, after as many attempts as the spec allows.
func TestFetchGivesUp(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		detail string
		reason wire.FetchReason
	}{
		"provider":    {"answered 503", wire.FetchUnavailable},
		"destination": {wire.FetchDestination + "Unknown", wire.FetchDestinationFailed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, asked := carrier(t, func(int, wire.FetchRequest) (wire.FetchResponse, error) {
				return wire.FetchResponse{}, broke(test.detail)
			})
			spec := fetchSpec()
			spec.MaxAttempts = 2
			outcome := w.fetch(spec)
			require.Equal(t, wire.FetchFailed, outcome.Status)
			require.Equal(t, test.reason, outcome.Reason)
			require.Equal(t, test.detail, outcome.Detail)
			require.Len(t, *asked, 2)
		})
	}
}

// A reference that has run out is read anew by one status request, once, where the table says so.
func TestExpiredReferenceIsRenewed(t *testing.T) {
	t.Parallel()
	expired := func(request wire.FetchRequest, renewable bool) wire.FetchResponse {
		return wire.FetchResponse{Outcome: operation.FetchEnded(request.Spec, wire.FetchFailed, wire.FetchReferenceExpired, "answered 403"), Renewable: renewable}
	}
	fresh := func(int, wire.PollRequest) (wire.PollResult, error) {
		result, err := succeeded()
		result.Observation.Job.Result["file"] = "https://files.example.com/2.csv"
		return result, err
	}
	t.Run("and taken", func(t *testing.T) {
		t.Parallel()
		w, asked := carrier(t, func(n int, request wire.FetchRequest) (wire.FetchResponse, error) {
			if n == 1 {
				return expired(request, true), nil
			}
			return carriedAll(request.Spec), nil
		})
		w.poll = fresh
		require.Equal(t, wire.FetchDone, w.fetch(fetchSpec()).Status)
		require.Len(t, w.polls, 1)
		require.Equal(t, "https://files.example.com/2.csv", (*asked)[1].Spec.URL)
		require.True(t, (*asked)[1].Renewed)
	})
	for name, test := range map[string]struct {
		renewable bool
		poll      func(int, wire.PollRequest) (wire.PollResult, error)
		polls     int
		asked     int
	}{
		"not where the table is silent": {false, fresh, 0, 1},
		"not twice":                     {true, fresh, 1, 2},
		"not when the job is no success any more": {true, func(int, wire.PollRequest) (wire.PollResult, error) {
			return state("expired", wire.CategoryExpired)
		}, 1, 1},
		"not when the request is lost": {true, func(int, wire.PollRequest) (wire.PollResult, error) {
			return wire.PollResult{}, errors.New("worker lost")
		}, 1, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, asked := carrier(t, func(_ int, request wire.FetchRequest) (wire.FetchResponse, error) {
				return expired(request, test.renewable), nil
			})
			w.poll = test.poll
			outcome := w.fetch(fetchSpec())
			require.Equal(t, wire.FetchReferenceExpired, outcome.Reason)
			require.Len(t, w.polls, test.polls)
			require.Len(t, *asked, test.asked)
		})
	}
}

// What cannot be run fails with one line that names the rule, and nothing is asked for.
func TestBadFetchFailsTheWorkflow(t *testing.T) {
	t.Parallel()
	change := func(change func(*wire.FetchSpec)) wire.FetchSpec {
		spec := fetchSpec()
		change(&spec)
		return spec
	}
	for want, input := range map[string]any{
		`fetch: field "destiny" is not known`: map[string]any{"destiny": "reports"},
		"fetch: account is missing":           change(func(s *wire.FetchSpec) { s.Account = "" }),
		"fetch: result_name is missing":       change(func(s *wire.FetchSpec) { s.ResultName = "" }),
		`fetch: url is missing, set it to the reference that the outcome has as "file"`: change(func(s *wire.FetchSpec) { s.URL = "" }),
		"fetch: max_bytes is 0": change(func(s *wire.FetchSpec) { s.MaxBytes = 0 }),
		"fetch: expected_bytes is 1001, allowed is 0 to max_bytes, 1000": change(func(s *wire.FetchSpec) { s.ExpectedBytes = new(int64(1001)) }),
		`fetch: expected_sha256 "ABC" is not 64 lower-case hex digits`:   change(func(s *wire.FetchSpec) { s.ExpectedSHA256 = "ABC" }),
		"fetch: deadline_at is missing":                                  change(func(s *wire.FetchSpec) { s.DeadlineAt = time.Time{} }),
		"fetch: deadline_at 2025-04-18T10:20:00Z is not after the start": change(func(s *wire.FetchSpec) { s.DeadlineAt = start }),
		"fetch: max_attempts is 101":                                     change(func(s *wire.FetchSpec) { s.MaxAttempts = 101 }),
		`fetch: key "a/../../b" has the segment ".."`:                    change(func(s *wire.FetchSpec) { s.Key = "a/../../b" }),
		`fetch: key "/etc/passwd" has the segment ""`:                    change(func(s *wire.FetchSpec) { s.Key = "/etc/passwd" }),
		"has control characters or backslashes":                          change(func(s *wire.FetchSpec) { s.Key = `a\b` }),
		"fetch: key has 513 characters":                                  change(func(s *wire.FetchSpec) { s.Key = strings.Repeat("k", 513) }),
	} {
		t.Run(want, func(t *testing.T) {
			t.Parallel()
			w, asked := carrier(t, nil)
			w.ExecuteWorkflow(wire.WorkflowFetchResult, input)
			require.ErrorContains(t, w.GetWorkflowError(), want)
			requireInvalidSpec(t, w.GetWorkflowError())
			require.Empty(t, *asked)
		})
	}
}

// Cancelling the workflow ends the fetch.
func TestCancelledFetch(t *testing.T) {
	t.Parallel()
	w, _ := carrier(t, func(int, wire.FetchRequest) (wire.FetchResponse, error) {
		return wire.FetchResponse{}, broke("answered 503")
	})
	spec := fetchSpec()
	spec.MaxAttempts = 100
	w.RegisterDelayedCallback(w.CancelWorkflow, time.Minute)
	w.ExecuteWorkflow(wire.WorkflowFetchResult, spec)
	require.True(t, temporal.IsCanceledError(w.GetWorkflowError()), w.GetWorkflowError())
}
