package waits_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jobwait/jobwait/internal/waits"
	"github.com/jobwait/jobwait/wire"
)

// A suggestion gives what is used up or asked for, and stays within the maxima of its option.
func TestSuggestGrant(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	retryAfter, past := int64(7230), now.Add(-time.Minute)
	view := wire.OperationView{
		Limits:          wire.Limits{DeadlineAt: past, BusinessDeadlineAt: &past, MaxStatusRequests: 12, MaxTransportFailures: 3, MaxRateLimited: 3},
		Counters:        wire.Counters{StatusRequestsUsed: 12, TransportFailuresUsed: 8},
		LastObservation: &wire.Observation{ReceivedAt: &now, Guidance: wire.Guidance{RetryAfterSeconds: &retryAfter}},
	}
	wide := wire.Option{Kind: wire.DecisionExtend, MaxSeconds: 604800, MaxStatusRequests: 10000, MaxTransportFailures: 1000, MaxRateLimited: 1000}
	narrow := wire.Option{Kind: wire.DecisionExtend, MaxSeconds: 60, MaxStatusRequests: 2}
	asked := wire.EscalationView{Request: &wire.ExtensionRequest{Seconds: 300, StatusRequests: 3}}
	for name, test := range map[string]struct {
		open   wire.EscalationView
		option wire.Option
		want   wire.Decision
	}{
		"used up":         {option: wide, want: wire.Decision{Seconds: 8160, StatusRequests: 4, TransportFailures: 6, PastBusinessDeadline: true}},
		"small maxima":    {option: narrow, want: wire.Decision{Seconds: 60, StatusRequests: 2, PastBusinessDeadline: true}},
		"nothing to give": {option: wire.Option{Kind: wire.DecisionClose}},
		"asked for":       {open: asked, option: wide, want: wire.Decision{Seconds: 300, StatusRequests: 3}},
		"asked for more":  {open: asked, option: narrow, want: wire.Decision{Seconds: 60, StatusRequests: 2}},
	} {
		require.Equal(t, test.want, waits.SuggestGrant(view, test.open, test.option, now), name)
	}
	left := wire.OperationView{Limits: wire.Limits{DeadlineAt: now.Add(time.Hour), MaxStatusRequests: 12, MaxTransportFailures: 3, MaxRateLimited: 3}}
	wide.Kind = wire.DecisionUseCredential
	require.Zero(t, waits.SuggestGrant(left, wire.EscalationView{}, wide, now), "another credential is no extension while there is time and budget")
}
