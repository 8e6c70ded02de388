package activities

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobwait/jobwait/wire"
)

// ruled gives the world's credential an approval rule.
func (w *world) ruled(rule string) {
	w.t.Helper()
	w.entry(fmt.Sprintf(`{version: "1", file: key, origins: [%q], approval: %s}`, w.URL, rule))
}

// R54, R28: prepare records the rule of the spec's credential; none is a word, too.
func TestPrepareRecordsTheApprovalRule(t *testing.T) {
	t.Parallel()
	for rule, want := range map[string]wire.ApprovalRule{
		`""`: wire.ApprovalNone, "none": wire.ApprovalNone, "per_operation": wire.ApprovalPerOperation, "per_request": wire.ApprovalPerRequest,
	} {
		p := newPreparation(t)
		p.ruled(rule)
		prepared, err := p.prepare()
		require.NoError(t, err)
		require.Equal(t, want, prepared.Approval, rule)
	}
	w := newWorld(t, nil)
	w.ruled("sometimes")
	require.EqualError(t, w.options.Validate(), `credentials: "demo": approval "sometimes" is not one of none, per_operation, per_request`)
}

// R54: a credential that nobody was asked about is not used where its entry wants approval, and the wait is told the rule.
// One that the wait knows the rule of is, whatever its entry says by now (R28).
func TestPollWithACredentialThatNobodyWasAskedAbout(t *testing.T) {
	t.Parallel()
	for rule, notSent := range map[string]wire.NotSent{
		"none": "", "per_operation": wire.NotSentApprovalRequired, "per_request": wire.NotSentApprovalRequired,
	} {
		w := newWorld(t, answers(200, running))
		w.ruled(rule)
		result := w.poll(func(r *wire.PollRequest) { r.ApprovalUnasked = true })
		require.Equal(t, notSent, result.NotSent, rule)
		if notSent != "" {
			require.Equal(t, rule, result.Detail)
			require.Zero(t, w.connected())
			require.Empty(t, w.poll(nil).NotSent)
		}
		require.Equal(t, 1, w.connected())
	}
}

// R54, R43: a cancel is a person's word already.
func TestCancelNeedsNoApproval(t *testing.T) {
	t.Parallel()
	w := newWorld(t, answers(202, ""))
	w.ruled("per_request")
	require.Empty(t, w.cancel(nil).NotSent)
}
