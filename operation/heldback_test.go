package operation_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jobwait/jobwait/operation"
	"github.com/jobwait/jobwait/wire"
)

// R19: a cancel that is held back past its time stops for a Retry-After only where there is one.
func TestACancelThatWasHeldBackSaysWhy(t *testing.T) {
	t.Parallel()
	until := start.Add(30 * time.Minute)
	for name, c := range map[string]struct {
		until  *time.Time
		reason wire.Reason
		detail string
	}{
		"the provider's word": {&until, wire.ReasonRetryAfterExceedsDeadline, "2025-04-18T10:50:00Z"},
		"nobody's":            {nil, wire.ReasonIntegrationFailure, "held_back"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			op := opened(t, cancelTable())
			now := polled(t, op, result(read("running")))
			_, refusal := op.Decide(now, answer(op, wire.DecisionCancel, nil), "")
			require.Nil(t, refusal)
			now = afterMinDelay(t, op, now)
			require.IsType(t, operation.SendCancel{}, op.Next(now))
			op.CancelAnswered(now, wire.CancelResult{Withheld: wire.Withheld{NotSent: wire.NotSentHeldBack, HeldUntil: c.until}})
			require.Equal(t, c.reason, op.Escalation().Reason)
			require.Equal(t, c.detail, op.Escalation().Detail)
		})
	}
}
