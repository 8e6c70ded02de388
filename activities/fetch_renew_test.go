package activities

import (
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/jobwait/jobwait/statetables"
	"github.com/jobwait/jobwait/wire"
)

// renewing has demo-export's table say that its links can be read anew.
func (f *fetcher) renewing() {
	f.t.Helper()
	text, err := fs.ReadFile(statetables.Demo(), "demo-export.yaml")
	require.NoError(f.t, err)
	changed := strings.Replace(string(text), "file: body.result_url", "file: {read: body.result_url, renewable: {source: jobwait}}", 1)
	f.options.Tables, err = statetables.Load(statetables.Source{FS: fstest.MapFS{"demo-export.yaml": {Data: []byte(changed)}}})
	require.NoError(f.t, err)
}

// R54: reading a reference anew is a status request. Where people want to be asked about those, a fetch sends none.
func TestRenewalAsksNobody(t *testing.T) {
	t.Parallel()
	for rule, test := range map[wire.ApprovalRule]struct {
		renewable bool
		detail    string
	}{
		wire.ApprovalNone:         {true, "answered 410"},
		wire.ApprovalPerOperation: {false, "answered 410; the status request that would renew it takes a person's approval"},
		wire.ApprovalPerRequest:   {false, "answered 410; the status request that would renew it takes a person's approval"},
	} {
		t.Run(string(rule), func(t *testing.T) {
			t.Parallel()
			f := newFetcher(t, answers(410, ""))
			f.renewing()
			f.entry(fmt.Sprintf(`{version: "1", file: key, origins: [%q], approval: %s}`, f.URL, rule))
			response, err := f.fetch(nil)
			require.NoError(t, err)
			require.Equal(t, wire.FetchReferenceExpired, response.Outcome.Reason)
			require.Equal(t, test.renewable, response.Renewable)
			require.Equal(t, test.detail, response.Outcome.Detail)
		})
	}
}
