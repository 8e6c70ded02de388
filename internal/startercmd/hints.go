package startercmd

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"regexp"
	"slices"

	"go.temporal.io/api/serviceerror"

	"github.com/jobwait/jobwait/internal/connect"
	"github.com/jobwait/jobwait/operation"
	"github.com/jobwait/jobwait/statetables"
)

// Ways out of what the server, or the way to it, refuses.
const (
	hintUnreachable = "start a server with `temporal server start-dev`, or set TEMPORAL_ADDRESS to the host:port of yours"
	hintNamespace   = "set TEMPORAL_NAMESPACE to one of those that `temporal operator namespace list` shows"
)

// serverHint is empty for errors that have nothing to do with the connection.
func serverHint(err error) string {
	var unreachable *connect.UnreachableError
	switch {
	case errors.As(err, new(*serviceerror.NamespaceNotFound)):
		return hintNamespace
	case !errors.As(err, &unreachable):
		return ""
	case !hasPort(unreachable.Address):
		return fmt.Sprintf("address %q is not host:port; set TEMPORAL_ADDRESS to both (the port is usually 7233)", unreachable.Address)
	default:
		return hintUnreachable
	}
}

func hasPort(address string) bool {
	_, port, err := net.SplitHostPort(address)
	return err == nil && port != ""
}

// specFlagOf is the flag of each field of a spec that has no default.
var specFlagOf = map[string]string{
	"operation_id": "--operation-id", "provider": "--provider", "account": "--account", "provider_job_id": "--job",
	"deadline_at": "--deadline", "max_status_requests": "--max-requests", "max_transport_failures": "--max-transport-failures",
	"status_url": "--status-url", "credential_ref": "--credential", "params": "--param", "expected_states": "--expected-state",
	"max_rate_limited": "--max-rate-limited",
}

var missingField = regexp.MustCompile(`^spec: (\w+) is (missing|empty)`)

// withFlag names the flag of a field that is missing.
func withFlag(err error) error {
	if err == nil {
		return nil
	}
	found := missingField.FindStringSubmatch(err.Error())
	if found == nil || specFlagOf[found[1]] == "" || errors.As(err, new(*hintedError)) {
		return err
	}
	return hinted(err, "give %s, or %s in the file of --spec", specFlagOf[found[1]], found[1])
}

// checkProvider refuses a provider without a table. It is for command lines that name the tables there are.
func checkProvider(provider string, tables *statetables.Set, dir string) error {
	if _, ok := tables.Table(provider); ok || provider == "" { // an empty one is missing, not unknown
		return nil
	}
	text := fmt.Sprintf("provider %q has no state table, neither built in nor in --tables %s", provider, dir)
	if near := nearest(provider, tables.Providers()); near != "" {
		text += fmt.Sprintf("; did you mean %q?", near)
	}
	return hinted(&operation.SpecError{Problem: text}, "`tables list --tables %s` shows all; without --tables, what the worker has decides", dir)
}

// nearest is the name with the fewest edits, empty when none is near.
func nearest(name string, names []string) string {
	if len(names) == 0 {
		return ""
	}
	best := slices.MinFunc(names, func(a, b string) int { return cmp.Compare(edits(name, a), edits(name, b)) })
	if edits(name, best) > max(2, len(name)/3) {
		return ""
	}
	return best
}

// edits is how many bytes are added, removed or replaced from one text to the other (Levenshtein).
func edits(from, to string) int {
	row := make([]int, len(to)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(from) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(to) {
			replaced := diagonal
			if from[i] != to[j] {
				replaced++
			}
			diagonal = row[j+1]
			row[j+1] = min(replaced, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(to)]
}
