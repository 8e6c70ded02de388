package startercmd

import (
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/jobwait/jobwait/operation"
	"github.com/jobwait/jobwait/statetables"
	"github.com/jobwait/jobwait/wire"
)

// specFlags are a spec on the command line: a file, fields, or a file with fields that stand in place of its own.
type specFlags struct {
	file      string
	spec      wire.Spec
	params    []string
	deadline  string
	limited   int
	tables    string
	command   *cobra.Command
	now       time.Time
	name      string // of the program
	fromStdin io.Reader
}

func (f *specFlags) define(command *cobra.Command) {
	f.command = command
	flags := command.Flags()
	flags.SortFlags = false
	flags.StringVar(&f.file, "spec", "", "`file` with the spec as JSON, - for standard input; the flags below stand in place of its fields")
	flags.StringVar(&f.spec.OperationID, "operation-id", "", "`name` of this wait for people and logs")
	flags.StringVar(&f.spec.Provider, "provider", "", "`name` of the state table")
	flags.StringVar(&f.spec.Account, "account", "", "`account` that makes the job id unique at the provider")
	flags.StringVar(&f.spec.ProviderJobID, "job", "", "`id` of the job at the provider")
	flags.StringArrayVar(&f.params, "param", nil, "`name=value` that the table asks for; may be repeated")
	flags.StringVar(&f.spec.StatusURL, "status-url", "", "`URL` that the submission was answered with, where the table polls one")
	flags.StringVar(&f.spec.CredentialRef, "credential", "", "`name` of a credential that the worker knows; never the credential itself")
	flags.StringVar(&f.spec.RequestFingerprint, "fingerprint", "", "`text` that identifies the submission, to tell another owner's job from yours")
	flags.StringVar(&f.deadline, "deadline", "", "`when` the job may no longer be unresolved: 40m from now, or a time such as 2025-04-18T11:00:00Z")
	flags.IntVar(&f.spec.MaxStatusRequests, "max-requests", 0, "how many status requests may be sent")
	flags.IntVar(&f.spec.MaxTransportFailures, "max-transport-failures", 0, "the failure (5xx, no answer) that stops the wait")
	flags.IntVar(&f.limited, "max-rate-limited", 0, "the 429 that stops the wait (default: as max-transport-failures)")
	flags.StringArrayVar(&f.spec.ExpectedStates, "expected-state", nil, "raw success `state` to accept; may be repeated (default: any that the table lists)")
	flags.BoolVar(&f.spec.AcceptPartial, "accept-partial", false, "take a partial success as a success")
	flags.StringVar(&f.tables, "tables", "", "`directory` with state tables of your own, to check the spec before it is sent")
}

// read puts file and flags together.
func (f *specFlags) read() (wire.Spec, error) {
	spec := wire.Spec{}
	if f.file != "" {
		data, err := specFile(f.fromStdin, f.file, wire.MaxSpecBytes)
		if err != nil {
			return wire.Spec{}, err
		}
		if spec, err = wire.DecodeSpec(data); err != nil {
			return wire.Spec{}, hinted(err, "`%s await --help` and the documentation of wire.Spec say what a spec holds", f.name)
		}
	} else if f.spec.Provider == "" {
		return wire.Spec{}, usagef("no job is named; give --spec, or at least --operation-id, --provider, --account, --job, --deadline, --max-requests and --max-transport-failures")
	}
	return spec, f.override(&spec)
}

// specFile reads what --spec names: one byte more than the limit, which decoding refuses.
func specFile(stdin io.Reader, name string, limit int64) ([]byte, error) {
	from := stdin
	if name != "-" {
		file, err := os.Open(name)
		if err != nil {
			return nil, fmt.Errorf("--spec: %w", err)
		}
		defer file.Close()
		from = file
	}
	data, err := io.ReadAll(io.LimitReader(from, limit+1))
	if err != nil {
		return nil, fmt.Errorf("--spec: %w", err)
	}
	return data, nil
}

// override takes the flags that were given.
func (f *specFlags) override(spec *wire.Spec) error {
	given := f.command.Flags().Changed
	for name, set := range map[string]func(){
		"operation-id":           func() { spec.OperationID = f.spec.OperationID },
		"provider":               func() { spec.Provider = f.spec.Provider },
		"account":                func() { spec.Account = f.spec.Account },
		"job":                    func() { spec.ProviderJobID = f.spec.ProviderJobID },
		"status-url":             func() { spec.StatusURL = f.spec.StatusURL },
		"credential":             func() { spec.CredentialRef = f.spec.CredentialRef },
		"fingerprint":            func() { spec.RequestFingerprint = f.spec.RequestFingerprint },
		"max-requests":           func() { spec.MaxStatusRequests = f.spec.MaxStatusRequests },
		"max-transport-failures": func() { spec.MaxTransportFailures = f.spec.MaxTransportFailures },
		"max-rate-limited":       func() { spec.MaxRateLimited = &f.limited },
		"expected-state":         func() { spec.ExpectedStates = f.spec.ExpectedStates },
		"accept-partial":         func() { spec.AcceptPartial = f.spec.AcceptPartial },
	} {
		if given(name) {
			set()
		}
	}
	if err := f.overrideParams(spec); err != nil {
		return err
	}
	return f.overrideDeadline(spec)
}

func (f *specFlags) overrideParams(spec *wire.Spec) error {
	return addParams(&spec.Params, f.params)
}

// addParams adds what was given as name=value.
func addParams(to *map[string]string, pairs []string) error {
	for _, pair := range pairs {
		name, value, ok := strings.Cut(pair, "=")
		if !ok || name == "" {
			return usagef("--param %q is not name=value", pair)
		}
		if *to == nil {
			*to = map[string]string{}
		}
		(*to)[name] = value
	}
	return nil
}

func (f *specFlags) overrideDeadline(spec *wire.Spec) error {
	if f.deadline == "" {
		return nil
	}
	if span, err := time.ParseDuration(f.deadline); err == nil {
		spec.DeadlineAt = f.now.Add(span).UTC().Truncate(time.Millisecond)
		return nil
	}
	at, err := time.Parse(time.RFC3339, f.deadline)
	if err != nil {
		return usagef("--deadline %q is neither a duration (40m) nor a time (2025-04-18T11:00:00Z)", f.deadline)
	}
	spec.DeadlineAt = at
	return nil
}

// checkSpec refuses before the start what can be known before it, so that nothing is started in vain and no URL that the
// worker would refuse gets into a history (R51). The worker decides what it alone knows: its own tables, policy and
// credentials.
func checkSpec(spec wire.Spec, tables *statetables.Set, now time.Time) error {
	known := operation.Knowledge{}
	table, ok := tables.Table(spec.Provider)
	if ok {
		advice := table.Advice()
		known.Advice, known.FloorSeconds, known.CapSeconds = advice.Schedule, advice.FloorSeconds, advice.CapSeconds
	}
	if _, err := operation.Prepare(spec, now, known); err != nil {
		return err
	}
	if !ok {
		return checkPlainURL(spec.StatusURL)
	}
	return table.CheckSpec(spec)
}

// checkPlainURL is for providers whose table this command does not have. It never repeats the URL, which may hold a secret.
func checkPlainURL(text string) error {
	if text == "" {
		return nil
	}
	parsed, err := url.Parse(text)
	switch {
	case err != nil:
		return errors.New("spec: status_url is not a URL")
	case parsed.Scheme != "https" && parsed.Scheme != "http" || parsed.Host == "":
		return errors.New("spec: status_url is not absolute; write https://host/path as the submission was answered")
	case parsed.User != nil:
		return errors.New("spec: status_url has a user or a password in it; name a credential instead")
	case parsed.RawQuery != "" || parsed.ForceQuery:
		return hinted(errors.New("spec: status_url has a query, and which names it may have is for the state table to say, which is not known here"),
			"give the directory of your tables with --tables")
	default:
		return nil
	}
}

// localTables are the tables a spec can be checked against: the built-in ones, the demo's, and those of a directory.
func localTables(dir string) (*statetables.Set, error) {
	sources := []statetables.Source{{FS: statetables.Builtin()}, {Name: "demo", FS: statetables.Demo()}}
	if dir != "" {
		sources = append(sources, statetables.Source{Name: dir, FS: os.DirFS(dir)})
	}
	return statetables.Load(sources...)
}
