package wire_test

import (
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/jobwait/jobwait/wire"
)

// TestWorkflowID: jobwait/<provider>/<account>/<provider_job_id>, every byte outside A-Z a-z 0-9 - . _ ~ as %XX (R45).
func TestWorkflowID(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ provider, account, job, want string }{
		{"demo-export", "acct-42", "exp_71c", "jobwait/demo-export/acct-42/exp_71c"},
		{"p", "a", "x/../y", "jobwait/p/a/x%2F..%2Fy"},
		{"p", "a", "..", "jobwait/p/a/.."},
		{"p", "a b", "1+1%", "jobwait/p/a%20b/1%2B1%25"},
		{"p", "ä", "~-._", "jobwait/p/%C3%A4/~-._"},
		{"p", "a\xff", "9007199254740993", "jobwait/p/a%FF/9007199254740993"},
	} {
		require.Equal(t, c.want, wire.WorkflowID(c.provider, c.account, c.job))
	}
}

// TestWorkflowIDIsTheOwner: two jobs never share an id, and the parts can be read back.
func TestWorkflowIDIsTheOwner(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		part := rapid.StringN(1, 12, -1)
		a := [3]string{part.Draw(rt, "provider"), part.Draw(rt, "account"), part.Draw(rt, "job")}
		b := [3]string{part.Draw(rt, "provider"), part.Draw(rt, "account"), part.Draw(rt, "job")}
		require.Equal(rt, a == b, wire.WorkflowID(a[0], a[1], a[2]) == wire.WorkflowID(b[0], b[1], b[2]))
		back, err := url.PathUnescape(wire.EscapeSegment(a[2]))
		require.NoError(rt, err)
		require.Equal(rt, a[2], back)
	})
}

// TestSuccessorID: an id has one successor and one predecessor at most, so that nothing is replaced twice (R57).
func TestSuccessorID(t *testing.T) {
	t.Parallel()
	for id, want := range map[string]string{
		"report-2026-11": "report-2026-11~2", "report-2026-11~2": "report-2026-11~3", "r~9": "r~10", "r~99": "r~100",
		"r~1": "r~1~2", "r~0": "r~0~2", "r~02": "r~02~2", "r~+2": "r~+2~2", "r~": "r~~2", "~2": "~3", "r~2~5": "r~2~6", "2": "2~2",
		"r~999999999": "r~1000000000", "r~1000000000": "r~1000000000~2", "r~99999999999999999999": "r~99999999999999999999~2",
	} {
		require.Equal(t, want, wire.SuccessorID(id))
	}
	id := rapid.StringMatching(`[ab]?(~[0-9]{0,3})?(~[0-9]{0,3})?`)
	rapid.Check(t, func(rt *rapid.T) {
		a, b := id.Draw(rt, "a"), id.Draw(rt, "b")
		require.Equal(rt, a == b, wire.SuccessorID(a) == wire.SuccessorID(b))
		require.NotEqual(rt, a, wire.SuccessorID(a))
	})
}
