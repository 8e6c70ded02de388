package bed

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/jobwait/jobwait/statetables"
)

// The providers of WriteTables.
const (
	// ProviderPlain knows no idempotency key.
	ProviderPlain = "demo-plain"
	// ProviderNamed lets the submitter choose the job's id, and answers 409 for one that it has.
	ProviderNamed = "demo-named"
	// ProviderForgetful knows an idempotency key for 11 seconds.
	ProviderForgetful = "demo-forgetful"
	// ProviderTelling says with the answer to a submission where the result will be, and need not say it again.
	ProviderTelling = "demo-telling"
)

// WriteTables writes the demonstration's table into a directory for providers that take submissions in other ways.
func WriteTables(dir string) error {
	const keyed, later = "  idempotency: header\n  name: Idempotency-Key\n  max_length: 128\n", "    later: [429]\n"
	for provider, edits := range map[string][]string{
		ProviderPlain:     {keyed, "  idempotency: none\n"},
		ProviderForgetful: {keyed, keyed + "  valid: {seconds: 11, source: jobwait}\n"},
		ProviderNamed: {
			keyed, "  idempotency: client_id\n  name: job_id\n", later, later + "    exists: [409]\n",
			"{verdict: ambiguous, detail: no_job_id}", // an answer without an id: the submitter knows it
			`{verdict: accepted, job_id: example-key, status_url: "http://127.0.0.1:8090/exports/exp_72"}`,
		},
		ProviderTelling: {
			"params:\n", "params:\n  result_url: {pattern: '^(http://127\\.0\\.0\\.1:[0-9]+/.+)?$', default: \"\", about: where the result is}\n",
			"given(body.result_url)", "given(either(body.result_url, params.result_url))",
			"file: body.result_url", "file: either(body.result_url, params.result_url)",
			"    read_as: status\n", "    read_as: status\n    params: {result_url: body.result_url}\n",
			`result_url: "https://files.example.com/exp_72.csv"}}`, `result_url: "http://127.0.0.1:8090/files/exp_72.csv"}}`, // done at once
			`exp_72", category: success}`, `exp_72", params: {result_url: "http://127.0.0.1:8090/files/exp_72.csv"}, category: success}`,
		},
	} {
		if err := WriteTable(dir, provider, edits...); err != nil {
			return err
		}
	}
	return nil
}

// WriteTable writes what DemoAs makes into a directory.
func WriteTable(dir, provider string, edits ...string) error {
	text, err := DemoAs(provider, edits...)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, provider+".yaml"), []byte(text), 0o600)
}

// DemoAs is the demonstration's table for a provider of another name, with each first text of the edits replaced by the one after it.
// A text that does not stand there is an error.
func DemoAs(provider string, edits ...string) (string, error) {
	table, err := fs.ReadFile(statetables.Demo(), "demo-export.yaml")
	if err != nil {
		return "", err
	}
	text := strings.ReplaceAll(string(table), "provider: demo-export", "provider: "+provider)
	for i := 0; i < len(edits); i += 2 {
		if !strings.Contains(text, edits[i]) {
			return "", fmt.Errorf("bed: the demonstration's table has no %q", edits[i])
		}
		text = strings.Replace(text, edits[i], edits[i+1], 1)
	}
	return text, nil
}
