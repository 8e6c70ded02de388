// Package listing lists waits from Temporal's visibility: those that wait for a decision with the most urgent first, those
// that wait for providers, those that are closed. It knows nothing of people; what somebody may not see is left out by the
// prefixes of a filter.
package listing

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"

	"github.com/jobwait/jobwait/internal/waits"
	"github.com/jobwait/jobwait/wire"
)

// Filter is which waits are listed. The zero value is all.
type Filter struct {
	// Prefixes begin the workflow ids; empty: any.
	Prefixes []string
	// Reason is why they stopped; empty: any.
	Reason wire.Reason
}

// Row is what visibility knows of one wait; no worker is asked for it.
type Row struct {
	WorkflowID, RunID      string
	Provider, Account, Job string
	// OperationID is empty where the wait was started without its memo.
	OperationID string
	// Phase is empty before the first step of a wait, and where the search attributes were not registered when it began.
	Phase  wire.Phase
	Reason wire.Reason
	// TaskQueue is where the wait's workers are.
	TaskQueue string
	// DecideBy is when an open question lapses; zero without one.
	DecideBy  time.Time
	StartedAt time.Time
	// ClosedAt is zero while the wait is open.
	ClosedAt time.Time
	Status   enumspb.WorkflowExecutionStatus
}

// Page is a part of a list.
type Page struct {
	Rows []Row
	// Next continues the list; empty at its end.
	Next string
	// Whole is how many there are in all, where that came to light; else -1.
	Whole int64
}

// ErrUnregistered says that the namespace does not have jobwait's search attributes, without which nobody can tell what
// waits for a decision.
var ErrUnregistered = errors.New("the search attributes of jobwait are not registered in this namespace")

// ErrPlace says that the place at which a list was to be continued is none.
var ErrPlace = errors.New("this is no place in the list")

// Visibility is what a server knows of its workflows.
type Visibility interface {
	ListWorkflow(context.Context, *workflowservice.ListWorkflowExecutionsRequest) (*workflowservice.ListWorkflowExecutionsResponse, error)
	CountWorkflow(context.Context, *workflowservice.CountWorkflowExecutionsRequest) (*workflowservice.CountWorkflowExecutionsResponse, error)
}

// Lister lists.
type Lister struct {
	Visibility Visibility
	// Memo reads the memos.
	Memo   waits.Client
	places places
	// spans are what earlier searches came to. Nil: each begins anew.
	spans *spans
}

// New lists the waits of a server.
func New(c waits.Client) Lister {
	return Lister{Visibility: c, Memo: c, places: newPlaces(), spans: newSpans()}
}

// isWait is a wait, or a submission, which asks and is answered like one.
const isWait = "WorkflowType IN ('" + wire.WorkflowAwaitJob + "', '" + wire.WorkflowSubmitAndAwait + "')"

// The three lists.
const (
	running  = isWait + " AND ExecutionStatus = 'Running'"
	deciding = running + " AND " + wire.AttributeDecideBy + " IS NOT NULL"
	waiting  = running + " AND " + wire.AttributeDecideBy + " IS NULL"
	closed   = isWait + " AND ExecutionStatus != 'Running' AND ExecutionStatus != 'ContinuedAsNew'"
)

// query adds the filter to one of the lists. Prefixes are escaped workflow ids and reasons are words, so that neither can
// end the quotes; what does not look so is dropped by matching nothing.
func (f Filter) query(list string) string {
	if f.Reason != "" {
		list += " AND " + wire.AttributeReason + " = " + quoted(string(f.Reason))
	}
	if len(f.Prefixes) == 0 {
		return list
	}
	var any []string
	for _, prefix := range f.Prefixes {
		any = append(any, "WorkflowId STARTS_WITH "+quoted(prefix))
		if rest, ok := strings.CutPrefix(prefix, wire.WorkflowIDPrefix); ok { // whoever may see the waits may see what they come of
			any = append(any, "WorkflowId STARTS_WITH "+quoted(wire.SubmitWorkflowIDPrefix+rest))
		}
	}
	return list + " AND (" + strings.Join(any, " OR ") + ")"
}

func quoted(text string) string {
	if strings.ContainsAny(text, "'\\\"") {
		return "'!'"
	}
	return "'" + text + "'"
}

// Waiting lists the open waits that ask nobody, the newest first. Where the search attributes are not registered it lists
// every open wait, with ErrUnregistered.
func (l Lister) Waiting(ctx context.Context, f Filter, place string, size int) (Page, error) {
	f.Reason = "" // those that go on have none
	page, err := l.page(ctx, f.query(waiting), place, size)
	if !errors.Is(err, ErrUnregistered) {
		return page, err
	}
	page, err = l.page(ctx, f.query(running), place, size)
	return page, errors.Join(err, ErrUnregistered)
}

// Closed lists the waits that are over, the last closed first.
func (l Lister) Closed(ctx context.Context, f Filter, place string, size int) (Page, error) {
	return l.page(ctx, f.query(closed), place, size)
}

func (l Lister) page(ctx context.Context, query, place string, size int) (Page, error) {
	token, err := l.places.decode(place)
	if err != nil {
		return Page{}, err
	}
	rows, next, err := l.list(ctx, query, token, size)
	return Page{Rows: rows, Next: l.places.encode(next), Whole: -1}, err
}

func (l Lister) list(ctx context.Context, query string, token []byte, size int) ([]Row, []byte, error) {
	answer, err := l.Visibility.ListWorkflow(ctx, &workflowservice.ListWorkflowExecutionsRequest{
		Query: query, PageSize: int32(min(size, maxPage)), NextPageToken: token, //nolint:gosec // bounded
	})
	if err != nil {
		return nil, nil, explain(err, len(token) > 0)
	}
	var rows []Row
	for _, info := range answer.GetExecutions() {
		if row, ok := l.Row(info); ok {
			rows = append(rows, row)
		}
	}
	return rows, answer.GetNextPageToken(), nil
}

// explain tells a namespace without the search attributes, and a place that the server does not take, from other errors.
func explain(err error, continued bool) error {
	var invalid *serviceerror.InvalidArgument
	switch {
	case errors.As(err, &invalid) && strings.Contains(invalid.Error(), "JobWait"):
		return ErrUnregistered
	case errors.As(err, &invalid) && continued:
		return ErrPlace
	default:
		return err
	}
}

// Row is what visibility says of a wait, and whether it is one of ours: another id than a wait's is refused by its first step.
func (l Lister) Row(info *workflowpb.WorkflowExecutionInfo) (Row, bool) {
	id := info.GetExecution().GetWorkflowId()
	provider, account, job, ok := Parts(id)
	row := Row{
		WorkflowID: id, RunID: info.GetExecution().GetRunId(), Provider: provider, Account: account, Job: job,
		OperationID: l.Memo.MemoText(info.GetMemo(), wire.MemoOperationID),
		Phase:       wire.Phase(waits.Attribute[string](info, wire.AttributePhase)),
		Reason:      wire.Reason(waits.Attribute[string](info, wire.AttributeReason)),
		TaskQueue:   info.GetTaskQueue(),
		StartedAt:   info.GetStartTime().AsTime(), Status: info.GetStatus(),
	}
	if by := waits.Attribute[*time.Time](info, wire.AttributeDecideBy); by != nil {
		row.DecideBy = by.UTC()
	}
	if info.GetCloseTime() != nil {
		row.ClosedAt = info.GetCloseTime().AsTime()
	}
	return row, ok
}

// Parts are what a workflow id is made of. An id that neither a wait nor a submission can have has none. The job of a
// submission is its submission_id.
func Parts(workflowID string) (provider, account, job string, ok bool) {
	parts := strings.Split(workflowID, "/")
	id, known := map[string]func(provider, account, job string) string{"jobwait": wire.WorkflowID, "jobwait-submit": wire.SubmitWorkflowID}[parts[0]]
	if len(parts) != 4 || !known || len(workflowID) > wire.MaxWorkflowIDBytes {
		return "", "", "", false
	}
	for i := range parts {
		plain, err := url.PathUnescape(parts[i])
		if err != nil || plain == "" {
			return "", "", "", false
		}
		parts[i] = plain
	}
	provider, account, job = parts[1], parts[2], parts[3]
	return provider, account, job, id(provider, account, job) == workflowID
}

// Totals are how many waits there are.
type Totals struct{ Open, Closed int64 }

// Totals counts with one question.
func (l Lister) Totals(ctx context.Context, f Filter) (Totals, error) {
	f.Reason = ""
	answer, err := l.Visibility.CountWorkflow(ctx, &workflowservice.CountWorkflowExecutionsRequest{
		Query: f.query(isWait) + " GROUP BY ExecutionStatus",
	})
	if err != nil {
		return Totals{}, explain(err, false)
	}
	var totals Totals
	for _, group := range answer.GetGroups() {
		status, err := groupStatus(group)
		if err != nil {
			return Totals{}, err
		}
		switch status {
		case "Running":
			totals.Open += group.GetCount()
		case "ContinuedAsNew":
		default:
			totals.Closed += group.GetCount()
		}
	}
	return totals, nil
}

func groupStatus(group *workflowservice.CountWorkflowExecutionsResponse_AggregationGroup) (string, error) {
	var status string
	if len(group.GetGroupValues()) != 1 {
		return "", fmt.Errorf("counting by status: %d values in a group, 1 is wanted", len(group.GetGroupValues()))
	}
	err := plain.FromPayload(group.GetGroupValues()[0], &status)
	return status, err
}

// Sorted puts rows in the order of urgency: what lapses first, then by id.
func Sorted(rows []Row) []Row {
	slices.SortFunc(rows, func(a, b Row) int {
		if by := a.DecideBy.Compare(b.DecideBy); by != 0 {
			return by
		}
		return strings.Compare(a.WorkflowID, b.WorkflowID)
	})
	return rows
}
