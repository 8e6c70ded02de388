package startercmd

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/jobwait/jobwait/internal/sheet"
	"github.com/jobwait/jobwait/operation"
	"github.com/jobwait/jobwait/statetables"
	"github.com/jobwait/jobwait/wire"
)

func (a *app) tablesShowCommand() *cobra.Command {
	var dir string
	var asJSON bool
	command := &cobra.Command{
		Use:   "show PROVIDER",
		Short: "what a table says, and a spec to begin with",
		Long: `Show tells what is polled and how, what each answer is read as, what proves a success, what a cancel does, and where all
that was read: each source with the sections that were read there, and [docs] behind a fact of its own. Last comes a spec with the job of the table's examples, to copy.
With --json the table stands under the keys of its file (see docs/state-tables.md).`,
		Args: oneProvider,
		RunE: func(_ *cobra.Command, args []string) error { return a.showTable(args[0], dir, asJSON) },
	}
	command.Flags().StringVar(&dir, "tables", "", "`directory` with tables of your own")
	command.Flags().BoolVar(&asJSON, "json", false, "as JSON")
	return command
}

func oneProvider(_ *cobra.Command, args []string) error {
	if len(args) != 1 {
		return usagef("%d arguments, one provider is wanted; tables list shows all", len(args))
	}
	return nil
}

// shownTable is what show --json gives.
type shownTable struct {
	listed
	Table statetables.File `json:"table"`
	Spec  wire.Spec        `json:"spec"`
}

func (a *app) showTable(provider, dir string, asJSON bool) error {
	file, err := a.tableOf(provider, dir)
	if err != nil {
		return err
	}
	table, err := file.Load()
	if err != nil {
		return err
	}
	spec, err := beginnersSpec(file, table, time.Now())
	if err != nil {
		return err
	}
	if asJSON {
		about := listed{provider, file.Table.Title, sheet.Features(file.Table), file.from, file.Digest}
		return a.printJSON(shownTable{listed: about, Table: file.File, Spec: spec})
	}
	return a.writeSheet(file, spec)
}

func (a *app) writeSheet(file tableFile, spec wire.Spec) error {
	if err := sheet.Of(file.File).WriteText(a.out); err != nil {
		return err
	}
	text, err := json.MarshalIndent(spec, "", "  ")
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(a.out, "\nA spec to begin with (its job is that of the table's %d examples):\n\n%s\n", len(file.Table.Examples), text)
	return err
}

// beginnersWait is the deadline of a spec that somebody begins with.
const beginnersWait = time.Hour

// beginnersSpec waits for the job of the table's examples, with as many requests as the table's schedule needs until the
// deadline.
func beginnersSpec(file tableFile, table *statetables.Table, now time.Time) (wire.Spec, error) {
	spec := file.Job()
	spec.OperationID = "name-of-this-wait"
	spec.CredentialRef = ""
	if table.NeedsCredential() {
		spec.CredentialRef = "name-of-a-credential"
	}
	spec.DeadlineAt = now.UTC().Add(beginnersWait).Truncate(time.Minute)
	spec.MaxStatusRequests, spec.MaxTransportFailures = 1, 5
	prepared, err := operation.Prepare(spec, now, knowledge(table))
	if err != nil {
		return wire.Spec{}, err
	}
	spec.MaxStatusRequests = requestsWithin(prepared.Pace, beginnersWait)
	return spec, nil
}

// knowledge is what the core has to know of a table to plan by it.
func knowledge(table *statetables.Table) operation.Knowledge {
	advice := table.Advice()
	return operation.Knowledge{
		Advice: advice.Schedule, FloorSeconds: advice.FloorSeconds, CapSeconds: advice.CapSeconds,
		RetentionSeconds: int64(advice.RetentionSeconds),
	}
}

// requestsWithin is about how many requests the local backoff sends in a time, at least 10: a delay is three quarters of
// its raw length in the mean (R15).
func requestsWithin(pace wire.Pace, whole time.Duration) int {
	requests, raw := 0, pace.BaseDelaySeconds
	for spent := 0.0; spent < whole.Seconds(); requests++ {
		spent += max(0.75*float64(raw), float64(pace.MinDelaySeconds))
		raw = min(2*raw, pace.MaxDelaySeconds)
	}
	return max(requests, 10)
}
