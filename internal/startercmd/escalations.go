package startercmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	workflowpb "go.temporal.io/api/workflow/v1"

	"github.com/jobwait/jobwait/internal/listing"
	"github.com/jobwait/jobwait/internal/waits"
	"github.com/jobwait/jobwait/wire"
)

func (a *app) escalationsCommand() *cobra.Command {
	var limit int
	var asJSON, live bool
	var every time.Duration
	command := &cobra.Command{
		Use:   "escalations",
		Short: "list what waits for a person's answer",
		Long: `Escalations lists the waits that have stopped and ask, and those that go on while a caller asks for more: id, reason, until
when, and what may be answered. It finds them by the search attribute JobWaitDecideBy, the most urgent first; where it is not
registered it asks every open wait, the newest first, up to --limit questions. A wait that does not answer, as
when no worker runs, is listed by its operation id with what the search attributes say, and the exit code is 1.

With --watch the list stays up to date until Ctrl-C, the most urgent first: drawn anew on a terminal, elsewhere one line (with
--json: one object) for each question that opens or is gone. While there are more questions than --limit, nothing is told of those
that have no room; one that had to make room for a more urgent one is not said to be gone.`,
		Args: noArguments,
		RunE: func(command *cobra.Command, _ []string) error {
			if live {
				return a.watch(command.Context(), limit, every, asJSON)
			}
			if command.Flags().Changed("every") {
				return usagef("--every belongs to --watch")
			}
			return a.escalations(command.Context(), limit, asJSON)
		},
	}
	command.Flags().IntVar(&limit, "limit", 100, "how many are shown at most")
	command.Flags().BoolVar(&live, "watch", false, "keep the list up to date")
	command.Flags().DurationVar(&every, "every", watchEvery, "`time` between two looks with --watch")
	command.Flags().BoolVar(&asJSON, "json", false, "as a JSON list of workflow_id, operation_id and escalation; where a wait does not answer: reason, decide_by and unasked (why)")
	return command
}

// asked is one open escalation, or a wait of which nobody could say whether it has one.
type asked struct {
	WorkflowID  string               `json:"workflow_id"`
	OperationID string               `json:"operation_id,omitempty"`
	Escalation  *wire.EscalationView `json:"escalation"`
	// Reason and DecideBy are what visibility says in place of a wait that does not answer.
	Reason   wire.Reason `json:"reason,omitempty"`
	DecideBy *time.Time  `json:"decide_by,omitempty"`
	// Unasked is why the wait could not be asked.
	Unasked string `json:"unasked,omitempty"`

	key questionKey
}

// told tells a question from the next of the same wait: by its id where the wait could be asked.
func (o asked) told() questionKey {
	if o.Escalation == nil {
		return o.key
	}
	return questionKey{workflowID: o.WorkflowID, escalation: o.Escalation.ID}
}

func (a *app) escalations(ctx context.Context, limit int, asJSON bool) error {
	if limit < 1 {
		return usagef("--limit %d: at least 1 is shown", limit)
	}
	s, err := a.connect(ctx)
	if err != nil {
		return err
	}
	defer s.Close()
	found := &escalationList{app: a, server: s, limit: limit, found: []asked{}}
	if err := found.collect(ctx); err != nil {
		return err
	}
	if asJSON {
		err = a.printJSON(found.found)
	} else {
		err = found.print()
	}
	return errors.Join(err, found.incomplete())
}

const (
	// listAskTimeout bounds the question to one of many waits: without a worker, each is waited for in vain.
	listAskTimeout = 3 * time.Second
	// listPage is how many questions visibility is asked for at once.
	listPage = 200
	// listAskedAtOnce is how many waits are asked at the same time. When none of them answers, no more are asked.
	listAskedAtOnce = 20
)

// escalationList asks waits for their open escalation.
type escalationList struct {
	app    *app
	server *server
	limit  int
	// known are questions that need not be asked for again; quiet leaves it to the caller to tell of trouble.
	known map[questionKey]asked
	quiet bool

	// visible says that visibility knows which waits are escalated.
	visible bool
	lister  listing.Lister
	batch   []listing.Row
	found   []asked
	more    bool
	// unasked are the waits that did not answer.
	unasked []listing.Row
	// silent is set once nobody answers any more.
	silent bool
}

func (l *escalationList) collect(ctx context.Context) error {
	l.lister, l.visible = listing.New(l.server.Client), true
	err := l.urgent(ctx)
	if errors.Is(err, listing.ErrUnregistered) {
		if !l.quiet {
			l.app.say("the search attribute %s is not registered: asking every open wait", wire.AttributeDecideBy)
		}
		l.visible = false
		err = l.server.List(ctx, "WorkflowType IN ('"+wire.WorkflowAwaitJob+"', '"+wire.WorkflowSubmitAndAwait+"') AND "+runningStatus, l.look)
	}
	if err == nil {
		err = l.askBatch(ctx)
	}
	if errors.Is(err, waits.ErrEnough) || err == nil && l.more {
		l.more = true
		if !l.quiet {
			l.app.say("there are more; see --limit")
		}
		return nil
	}
	return err
}

// urgent takes the questions in the order of their urgency, page by page.
func (l *escalationList) urgent(ctx context.Context) error {
	now := time.Now()
	for place := ""; ; {
		page, err := l.lister.Urgent(ctx, listing.Filter{}, now, place, min(l.limit, listPage))
		if err != nil {
			return err
		}
		for _, row := range page.Rows {
			if err := l.add(ctx, row); err != nil {
				return err
			}
		}
		if place = page.Next; place == "" {
			return nil
		}
	}
}

func (l *escalationList) look(ctx context.Context, info *workflowpb.WorkflowExecutionInfo) error {
	row, ok := l.lister.Row(info)
	if !ok {
		return nil
	}
	return l.add(ctx, row)
}

func (l *escalationList) add(ctx context.Context, row listing.Row) error {
	if len(l.found) == l.limit {
		return waits.ErrEnough
	}
	if l.batch = append(l.batch, row); len(l.batch) < listAskedAtOnce {
		return nil
	}
	return l.askBatch(ctx)
}

var errSilent = errors.New("not asked: no wait before it answered")

// askBatch asks several waits at once and takes their answers in the order of the list.
func (l *escalationList) askBatch(ctx context.Context) error {
	views, errs := make([]*wire.EscalationView, len(l.batch)), make([]error, len(l.batch))
	var asking sync.WaitGroup
	for i, row := range l.batch {
		if known, ok := l.known[keyOf(row)]; ok && l.visible && known.Escalation != nil {
			views[i] = known.Escalation
			continue
		}
		if errs[i] = errSilent; !l.silent {
			asking.Go(func() {
				views[i], errs[i] = askWithin[*wire.EscalationView](ctx, listAskTimeout, l.server, row.WorkflowID, "", wire.QueryEscalation)
			})
		}
	}
	asking.Wait()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	l.silent = !slices.Contains(errs, nil)
	for i, row := range l.batch {
		l.take(row, views[i], errs[i])
	}
	l.batch = nil
	return nil
}

func (l *escalationList) take(row listing.Row, view *wire.EscalationView, err error) {
	one := asked{WorkflowID: row.WorkflowID, OperationID: row.OperationID, Escalation: view, key: keyOf(row)}
	if err != nil {
		l.unasked = append(l.unasked, row)
		one.Unasked, one.Reason = err.Error(), row.Reason
		if !row.DecideBy.IsZero() {
			one.DecideBy = &row.DecideBy
		}
		if !errors.Is(err, errSilent) && !l.quiet {
			l.app.say("%s does not answer: %v", row.WorkflowID, err)
		}
	}
	switch {
	case view == nil && (err == nil || !l.visible): // not open, or nobody knows
	case len(l.found) == l.limit:
		l.more = true
	default:
		l.found = append(l.found, one)
	}
}

// silentOn reports whether nobody can say if a wait asks: where visibility cannot tell, and the wait did not answer.
func (l *escalationList) silentOn(workflowID string) bool {
	return !l.visible && slices.ContainsFunc(l.unasked, func(row listing.Row) bool { return row.WorkflowID == workflowID })
}

// mayHide reports whether a question may be among those for which the list has no room: one that is more urgent than the last
// shown is not, where visibility sorts them.
func (l *escalationList) mayHide(one asked) bool {
	return l.more && (!l.visible || !one.key.decideBy.Before(l.found[len(l.found)-1].key.decideBy))
}

// incomplete says how many waits the list does not speak for.
func (l *escalationList) incomplete() error {
	if len(l.unasked) == 0 {
		return nil
	}
	text := fmt.Sprintf("%d waits could not be asked", len(l.unasked))
	if len(l.unasked) == 1 {
		text = "1 wait could not be asked"
	}
	if !l.visible {
		text += " and may wait for an answer"
	}
	var queues []string
	for _, row := range l.unasked {
		queues = append(queues, row.TaskQueue)
	}
	slices.Sort(queues)
	queues = slices.Compact(queues)
	return hinted(errors.New(text), "waits are asked through their workers; is one running on task queue %s?", quoted(queues))
}

func quoted(names []string) string {
	var texts []string
	for _, name := range names {
		texts = append(texts, strconv.Quote(name))
	}
	return strings.Join(texts, ", ")
}

func (l *escalationList) print() error {
	if len(l.found) == 0 {
		if len(l.unasked) == 0 {
			l.app.say("nothing waits for an answer")
		}
		return nil
	}
	rows := [][]string{{"ESCALATION", "REASON", "ANSWER BEFORE", "OPTIONS"}}
	for _, one := range l.found {
		rows = append(rows, one.row())
	}
	if err := writeTable(l.app.out, rows); err != nil {
		return err
	}
	l.app.say("`%s show ID` shows what a decision needs, `%[1]s decide ID` answers", l.app.name)
	return nil
}

// row marks what only visibility knows of.
func (o asked) row() []string {
	if e := o.Escalation; e != nil {
		return []string{e.ID, reasonText(e.Reason, e.Detail), stamp(e.WindowEndsAt), optionNames(e.Options)}
	}
	return []string{cmp.Or(o.OperationID, o.WorkflowID), string(o.Reason), stampOrNothing(o.DecideBy), "(could not be asked)"}
}

func optionNames(options []wire.Option) string {
	var names []string
	for _, option := range options {
		names = append(names, string(option.Kind))
	}
	return strings.Join(names, ", ")
}
