package activities

import (
	"maps"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobwait/jobwait/statetables"
	"github.com/jobwait/jobwait/wire"
)

// R51: a fetch has no prepare, so it holds the job's params and account against the table itself: a credential and a
// destination that are bound to an account are not for the results of another one, and a host is one that the table takes.
func TestFetchIsOfAJobThatTheTableKnows(t *testing.T) {
	t.Parallel()
	whole := map[string]string{"host": "airflow.example.com", "dag_id": "load_sales"}
	for name, test := range map[string]struct {
		change func(*wire.FetchSpec)
		detail string
	}{
		"another account": {
			func(s *wire.FetchSpec) { s.Account = "airflow.example.com/other" },
			`account "airflow.example.com/other" must be "airflow.example.com/load_sales", which makes the job id unique at airflow-dag-run`,
		},
		"a host that is none": {
			func(s *wire.FetchSpec) { s.Params["host"] = "a@b" },
			`params: host "a@b" does not match`,
		},
		"a param that is none": {
			func(s *wire.FetchSpec) { s.Params["scheme"] = "http" },
			`params: "scheme" is not a param of airflow-dag-run`,
		},
		"a param that is missing": {
			func(s *wire.FetchSpec) { delete(s.Params, "dag_id") },
			"params: dag_id is missing",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFetcher(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(export) })
			tables, err := statetables.Load(statetables.Source{FS: statetables.Builtin()})
			require.NoError(t, err)
			f.options.Tables = tables
			outcome := f.ended(func(s *wire.FetchSpec) {
				s.Provider, s.Account, s.StatusURL, s.Params = "airflow-dag-run", "airflow.example.com/load_sales", "", maps.Clone(whole)
				test.change(s)
			})
			require.Equal(t, wire.FetchReferenceRejected, outcome.Reason)
			require.Contains(t, outcome.Detail, test.detail)
			require.Zero(t, f.connected())
		})
	}
}
