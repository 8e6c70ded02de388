package startercmd

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jobwait/jobwait/wire"
)

func offering(kind wire.DecisionKind) wire.Option {
	return wire.Option{Kind: kind, MaxSeconds: 604800, MaxStatusRequests: 10000, MaxTransportFailures: 1000, MaxRateLimited: 1000}
}

// What is suggested is what the wait would accept (R41), and never a cancel.
func TestSuggestedAnswers(t *testing.T) {
	t.Parallel()
	const id, start = "op#1-01234567", "answer for instance with: starter "
	extend, bare := offering(wire.DecisionExtend), func(k wire.DecisionKind) wire.Option { return wire.Option{Kind: k} }
	closing, cancel := bare(wire.DecisionClose), bare(wire.DecisionCancel)
	seconds := int64(7230)
	for name, test := range map[string]struct {
		reason  wire.Reason
		options []wire.Option
		change  func(*wire.OperationView)
		want    string
	}{
		"requests": {
			wire.ReasonRequestBudgetExhausted,
			[]wire.Option{extend, cancel, closing},
			func(v *wire.OperationView) { v.Counters.StatusRequestsUsed = 12 },
			"extend '" + id + "' --comment WHY --for 15m --requests 4",
		},
		"signed": {
			wire.ReasonRequestBudgetExhausted,
			[]wire.Option{closing},
			func(v *wire.OperationView) { v.Signing = &wire.SigningView{KeyIDs: []string{"ana-2026"}} },
			"close '" + id + "' --comment WHY --sign-with FILE",
		},
		"failures": {
			wire.ReasonTransportBudgetExhausted,
			[]wire.Option{extend, closing},
			func(v *wire.OperationView) { v.Counters.TransportFailuresUsed = 3 },
			"extend '" + id + "' --comment WHY --for 15m --requests 4 --transport-failures 3",
		},
		"rate limit": {
			wire.ReasonRateLimited,
			[]wire.Option{extend, closing},
			func(v *wire.OperationView) { v.Counters.RateLimitedUsed = 3 },
			"extend '" + id + "' --comment WHY --for 15m --requests 4 --rate-limited 3",
		},
		"business deadline": {
			wire.ReasonBusinessDeadlineExceeded,
			[]wire.Option{extend, closing},
			func(v *wire.OperationView) { v.Limits.BusinessDeadlineAt = at(noon) },
			"extend '" + id + "' --comment WHY --for 15m --requests 4 --past-business-deadline",
		},
		"Retry-After": {
			wire.ReasonRetryAfterExceedsDeadline,
			[]wire.Option{extend, closing},
			func(v *wire.OperationView) {
				v.LastObservation = &wire.Observation{ReceivedAt: at(noon), Guidance: wire.Guidance{RetryAfterSeconds: &seconds}}
			},
			"extend '" + id + "' --comment WHY --for 136m --requests 4",
		},
		"a small maximum": {
			wire.ReasonRequestBudgetExhausted,
			[]wire.Option{{Kind: wire.DecisionExtend, MaxSeconds: 90, MaxStatusRequests: 2}, closing},
			nil, "extend '" + id + "' --comment WHY --for 90s --requests 2",
		},
		"unknown state": {
			wire.ReasonUnknownState,
			[]wire.Option{extend, offering(wire.DecisionTreatAsPending), cancel, closing},
			nil, "treat-as-pending '" + id + "' --comment WHY --for 15m --requests 4",
		},
		"credential": {
			wire.ReasonAuthorizationDenied,
			[]wire.Option{offering(wire.DecisionUseCredential), closing},
			nil, "use-credential '" + id + "' --comment WHY --credential NAME",
		},
		"credential, nothing left": {
			wire.ReasonAuthorizationDenied,
			[]wire.Option{offering(wire.DecisionUseCredential), closing},
			func(v *wire.OperationView) { v.Counters.StatusRequestsUsed, v.Limits.DeadlineAt = 12, noon },
			"use-credential '" + id + "' --comment WHY --credential NAME --for 15m --requests 4",
		},
		"a result":    {wire.ReasonPartialResult, []wire.Option{bare(wire.DecisionAcceptResult), closing}, nil, "accept-result '" + id + "' --comment WHY"},
		"never first": {wire.ReasonDeadlineExceeded, []wire.Option{cancel, closing}, nil, "close '" + id + "' --comment WHY"},
	} {
		view := wire.OperationView{
			Limits:     wire.Limits{DeadlineAt: noon.Add(time.Hour), MaxStatusRequests: 12, MaxTransportFailures: 3, MaxRateLimited: 3},
			Escalation: &wire.EscalationView{ID: id, Reason: test.reason, Options: test.options},
		}
		if test.change != nil {
			test.change(&view)
		}
		require.Equal(t, start+test.want, suggestion("starter", view, noon), name)
	}
	proposal := &wire.EscalationView{
		ID: "op#p1-01234567", Reason: wire.ReasonExtensionRequested, Options: []wire.Option{extend, bare(wire.DecisionRefuse)},
		Request: &wire.ExtensionRequest{Seconds: 1800, StatusRequests: 2},
	}
	require.Equal(t, start+"extend 'op#p1-01234567' --comment WHY --for 30m --requests 2", suggestion("starter", wire.OperationView{Proposal: proposal}, noon))
	proposal.Request.Seconds = 0
	require.Equal(t, start+"extend 'op#p1-01234567' --comment WHY --requests 2", suggestion("starter", wire.OperationView{Proposal: proposal}, noon))
	require.Empty(t, suggestion("starter", wire.OperationView{Escalation: &wire.EscalationView{}}, noon))
}
