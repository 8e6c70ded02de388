package waits

import (
	"context"

	"github.com/jobwait/jobwait/wire"
)

// Nudge tells a wait that its job may have changed. Nobody answers: what became of it stands in the audit. A wait that has
// ended is Gone.
func (c Client) Nudge(ctx context.Context, workflowID, source string) error {
	return c.SignalWorkflow(ctx, workflowID, "", wire.SignalNudge, wire.Nudge{Source: source})
}
