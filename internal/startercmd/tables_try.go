package startercmd

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/jobwait/jobwait/operation"
	"github.com/jobwait/jobwait/statetables"
	"github.com/jobwait/jobwait/wire"
)

// tryFlags are an answer, and the wait that gets it.
type tryFlags struct {
	status             int
	body, spec, job    string
	tables             string
	headers            []string
	elapsed            time.Duration
	answered, canceled bool
	json               bool
}

func (a *app) tablesTryCommand() *cobra.Command {
	flags := &tryFlags{}
	command := &cobra.Command{
		Use:   "try PROVIDER",
		Short: "how an answer of a provider is read, and what a wait does next",
		Long: `Try reads an answer to a status request by the provider's table, and lets the rules of a wait decide on it: nothing is
sent and no server is needed. The wait is one that has just sent its first request; it is about the job of the table's
examples, or about that of --job or --spec.

  jobwait tables try openai-batch --job batch_71c --body answer.json
  jobwait tables try openai-batch --status 429 --header 'Retry-After: 120'
  jobwait tables try my-provider --tables ./tables --status 404 --elapsed 30s`,
		Args: oneProvider,
		RunE: func(_ *cobra.Command, args []string) error { return a.tryAnswer(args[0], flags) },
	}
	define := command.Flags()
	define.SortFlags = false
	define.IntVar(&flags.status, "status", http.StatusOK, "HTTP `code` of the answer")
	define.StringVar(&flags.body, "body", "", "`file` with the body as it came, - for standard input (default: no body)")
	define.StringArrayVar(&flags.headers, "header", nil, "`header` of the answer, name=value or 'Name: value'; may be repeated")
	define.StringVar(&flags.job, "job", "", "`id` of the job that is asked for, where it is not that of the table's examples")
	define.StringVar(&flags.spec, "spec", "", "`file` with the spec of the wait as JSON")
	define.DurationVar(&flags.elapsed, "elapsed", 0, "`time` from the submission of the job to the answer")
	define.BoolVar(&flags.answered, "answered", false, "a good answer came before")
	define.BoolVar(&flags.canceled, "after-cancel", false, "our own cancel was sent before")
	define.StringVar(&flags.tables, "tables", "", "`directory` with tables of your own")
	define.BoolVar(&flags.json, "json", false, "as JSON")
	return command
}

func (a *app) tryAnswer(provider string, flags *tryFlags) error {
	now := time.Now().UTC().Truncate(time.Millisecond)
	response, err := flags.response(a.in)
	if err != nil {
		return err
	}
	file, err := a.tableOf(provider, flags.tables)
	if err != nil {
		return err
	}
	table, err := file.Load()
	if err != nil {
		return err
	}
	spec, err := flags.waitFor(file, table, now)
	if err != nil {
		return err
	}
	t, err := newTrial(table, spec, now)
	if err != nil {
		return err
	}
	t.about, t.bySpec = answersID(file.Table.JobID, response.Body), flags.spec != ""
	if err := t.play(flags, response); err != nil {
		return err
	}
	if flags.json {
		return a.printJSON(t.report())
	}
	return t.write(a.out)
}

// waitFor is the spec of the wait that gets the answer.
func (f *tryFlags) waitFor(file tableFile, table *statetables.Table, now time.Time) (wire.Spec, error) {
	if f.spec == "" {
		spec, err := beginnersSpec(file, table, now)
		if err != nil || f.job == "" {
			return spec, err
		}
		spec.ProviderJobID = f.job
		return spec, table.CheckSpec(spec)
	}
	if f.job != "" {
		return wire.Spec{}, usagef("--job beside --spec: the spec names the job; give one of them")
	}
	data, err := os.ReadFile(f.spec)
	if err != nil {
		return wire.Spec{}, fmt.Errorf("--spec: %w", err)
	}
	spec, err := wire.DecodeSpec(data)
	if err != nil {
		return wire.Spec{}, err
	}
	if spec.Provider != table.Provider() {
		return wire.Spec{}, usagef("--spec is about provider %q, not about %q", spec.Provider, table.Provider())
	}
	return spec, table.CheckSpec(spec)
}

// response is the answer of the flags. When it is received is for the wait to say.
func (f *tryFlags) response(stdin io.Reader) (statetables.Response, error) {
	response := statetables.Response{Status: f.status, Header: http.Header{}}
	if f.status < 100 || f.status > 599 {
		return response, usagef("--status %d is no HTTP code; give 100 to 599", f.status)
	}
	for _, written := range f.headers {
		name, value, err := parseHeader(written)
		if err != nil {
			return response, err
		}
		http.Header(response.Header).Add(name, value)
	}
	var err error
	response.Body, response.BodyTooLarge, err = f.content(stdin)
	return response, err
}

func parseHeader(written string) (name, value string, err error) {
	at := strings.IndexAny(written, ":=")
	if at < 1 {
		return "", "", usagef("--header %q is neither name=value nor 'Name: value'", written)
	}
	return strings.TrimSpace(written[:at]), strings.TrimSpace(written[at+1:]), nil
}

// content is the body, unless it is too large to be read (R7).
func (f *tryFlags) content(stdin io.Reader) (body []byte, tooLarge bool, err error) {
	from := stdin
	switch f.body {
	case "":
		return nil, false, nil
	case "-":
	default:
		file, err := os.Open(f.body)
		if err != nil {
			return nil, false, fmt.Errorf("--body: %w", err)
		}
		defer file.Close()
		from = file
	}
	body, err = io.ReadAll(io.LimitReader(from, statetables.MaxBodyBytes+1))
	if err != nil {
		return nil, false, fmt.Errorf("--body: %w", err)
	}
	return body, len(body) > statetables.MaxBodyBytes, nil
}

// trial is a wait that is played without a server and without waiting: time passes where the wait would sleep.
type trial struct {
	table *statetables.Table
	op    *operation.Operation
	now   time.Time
	// seen is how the answer was read; next what the wait does then.
	seen wire.Observation
	next operation.Command
	// about is the job id in the answer, empty where it is not plain to see; bySpec says that a spec names the job.
	about  string
	bySpec bool
}

// trialRun is the run id of a wait that is tried. It decides the jitter, so that equal trials have equal delays.
const trialRun = "00000000-0000-0000-0000-000000000000"

func newTrial(table *statetables.Table, spec wire.Spec, now time.Time) (*trial, error) {
	known := knowledge(table)
	var err error
	if known.Table, err = table.Facts(spec); err != nil {
		return nil, err
	}
	prepared, err := operation.Prepare(spec, now, known)
	if err != nil {
		return nil, err
	}
	prepared.Pace.InitialDelaySeconds = new(0) // the trial begins with the first request
	return &trial{table: table, op: operation.Open(prepared, trialRun, now, now), now: now}, nil
}

// play brings the wait to the request whose answer is tried, and gives it the answer.
func (t *trial) play(flags *tryFlags, response statetables.Response) error {
	request, err := t.request()
	if err != nil {
		return err
	}
	if flags.answered || flags.canceled {
		t.op.StatusAnswered(t.now, wire.PollResult{Observation: t.atWork()})
		if flags.canceled {
			if err := t.cancel(); err != nil {
				return err
			}
		}
		if request, err = t.request(); err != nil {
			return err
		}
	}
	if spec := t.op.Record().Prepared.Spec; spec.SubmittedAt == nil || flags.elapsed > 0 {
		request.Reading.SubmittedAt = t.now.Add(-flags.elapsed)
	}
	response.ReceivedAt = t.now
	t.seen = t.table.Classify(request.Target, request.Reading, response)
	t.seen.ReceivedAt = &t.now
	t.op.StatusAnswered(t.now, wire.PollResult{Observation: &t.seen})
	t.next = t.command()
	return nil
}

// request lets time pass until a status request is sent.
func (t *trial) request() (wire.PollRequest, error) {
	for {
		switch command := t.command().(type) {
		case operation.SendStatus:
			return command.Request, nil
		case operation.Wait:
			t.now = command.Until // never zero: nothing is in flight here
		case operation.SendCancel:
			t.op.CancelAnswered(t.now, wire.CancelResult{Accepted: true, SentAt: &t.now, ReceivedAt: &t.now})
		default:
			return wire.PollRequest{}, errors.New("tables: the wait ends before this answer could come; is its deadline too close?")
		}
	}
}

// command is the next thing that is not a message.
func (t *trial) command() operation.Command {
	for {
		command := t.op.Next(t.now)
		notify, ok := command.(operation.Notify)
		if !ok {
			return command
		}
		t.op.Notified(t.now, notify.Request.Notification.ID, "")
	}
}

// atWork is an answer that lets the wait go on and a cancel be sent.
func (t *trial) atWork() *wire.Observation {
	job := wire.JobFact{RawState: "at work", Category: wire.CategoryPending, Cancellable: new(true)}
	if facts := t.op.Record().Prepared.Table.Cancel; facts != nil && len(facts.States) > 0 {
		job.RawState = facts.States[0]
	}
	return &wire.Observation{Answer: wire.AnswerRead, HTTPStatus: http.StatusOK, Job: &job, ReceivedAt: &t.now}
}

// cancel decides as a person would whose cancel the answer follows.
func (t *trial) cancel() error {
	if t.op.Record().Prepared.Table.Cancel == nil {
		return usagef("--after-cancel: the table of %s knows no cancel call; leave it out", t.table.Provider())
	}
	decision, err := json.Marshal(wire.Decision{
		Kind: wire.DecisionCancel, DecisionID: "try", DecidedBy: "tables try", Comment: "--after-cancel",
	})
	if err != nil {
		return err
	}
	if _, refusal := t.op.Decide(t.now, decision, ""); refusal != nil {
		return usagef("--after-cancel: %s: %s", t.table.Provider(), refusal.Detail)
	}
	return nil
}

// tried is what try --json gives.
type tried struct {
	Provider    string           `json:"provider"`
	Observation wire.Observation `json:"observation"`
	Next        nextStep         `json:"next"`
	Limits      wire.Limits      `json:"limits"`
	Counters    wire.Counters    `json:"counters"`
}

// nextStep is what the wait does after the answer.
type nextStep struct {
	// Action is ask_again, wait_for_deadline, ask_a_person or end.
	Action       string               `json:"action"`
	DelaySeconds float64              `json:"delay_seconds,omitempty"`
	DelaySource  wire.DelaySource     `json:"delay_source,omitempty"`
	Escalation   *wire.EscalationView `json:"escalation,omitempty"`
	Outcome      *wire.Outcome        `json:"outcome,omitempty"`
}

func (t *trial) report() tried {
	view := t.op.View(t.now)
	return tried{
		Provider: t.table.Provider(), Observation: t.seen, Next: t.step(view), Limits: view.Limits, Counters: view.Counters,
	}
}

func (t *trial) step(view wire.OperationView) nextStep {
	if ended, ok := t.next.(operation.Close); ok {
		return nextStep{Action: "end", Outcome: &ended.Outcome}
	}
	switch {
	case view.Escalation != nil:
		return nextStep{Action: "ask_a_person", Escalation: view.Escalation}
	case view.NextPollAt != nil:
		return nextStep{Action: "ask_again", DelaySeconds: view.NextPollAt.Sub(t.now).Seconds(), DelaySource: view.DelaySource}
	default:
		return nextStep{Action: "wait_for_deadline"}
	}
}
