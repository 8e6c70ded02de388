package startercmd

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	workflowpb "go.temporal.io/api/workflow/v1"

	"github.com/jobwait/jobwait/internal/waits"
	"github.com/jobwait/jobwait/wire"
)

// target is how a command line names a wait.
type target struct {
	id                     string
	provider, account, job string
	// submission says that an operation id is that of a submission, and not of its wait.
	submission bool
}

func (t *target) define(command *cobra.Command) {
	command.Use += " [ID]"
	command.Args = func(_ *cobra.Command, args []string) error {
		if len(args) > 1 {
			return usagef("%d arguments, one ID is wanted", len(args))
		}
		return t.take(args)
	}
	flags := command.Flags()
	flags.StringVar(&t.provider, "provider", "", "`name` of the state table, with --account and --job in place of an ID")
	flags.StringVar(&t.account, "account", "", "`account` of the job")
	flags.StringVar(&t.job, "job", "", "`id` of the job at the provider")
}

func (t *target) take(args []string) error {
	byFlags := t.provider != "" || t.account != "" || t.job != ""
	switch {
	case len(args) == 1 && args[0] == "":
		return usagef("the ID is empty")
	case len(args) == 1 && byFlags:
		return usagef("both an ID and --provider, --account or --job are given; give one or the other")
	case len(args) == 1:
		t.id = args[0]
	case !byFlags:
		return usagef("an ID is missing; give one, or --provider, --account and --job")
	case t.provider == "" || t.account == "" || t.job == "":
		return usagef("--provider, --account and --job belong together; one is missing")
	}
	return nil
}

// escalationSuffix is the end of an escalation's id. A proposal's has a p before its number.
var escalationSuffix = regexp.MustCompile(`#p?\d+-[0-9a-f]{8}$`)

// escalation is the ID itself where it is that of an escalation, else empty.
func (t *target) escalation() string {
	if escalationSuffix.MatchString(t.id) {
		return t.id
	}
	return ""
}

// workflowID finds the workflow of a wait.
func (t *target) workflowID(ctx context.Context, s *server) (string, error) {
	switch {
	case t.id == "":
		return wire.WorkflowID(t.provider, t.account, t.job), nil
	case (strings.HasPrefix(t.id, wire.WorkflowIDPrefix) || strings.HasPrefix(t.id, wire.SubmitWorkflowIDPrefix)) && t.escalation() == "": // a workflow id has no # in it
		return t.id, nil
	}
	operation := escalationSuffix.ReplaceAllString(t.id, "")
	if t.submission {
		return s.findAmong(ctx, operation, wire.WorkflowSubmitAndAwait)
	}
	return s.findOperation(ctx, operation)
}

const (
	runningStatus = "ExecutionStatus = 'Running'"
	closedStatus  = "ExecutionStatus != 'Running' AND ExecutionStatus != 'ContinuedAsNew'"

	// maxListed bounds a search by operation id; the ID of the workflow needs no search.
	maxListed = 20_000
	// maxReadThrough is how many waits without a memo are looked into for their operation id.
	maxReadThrough = 200
)

// findOperation looks through the list of waits, the open ones first: no search attribute holds the operation id.
func (s *server) findOperation(ctx context.Context, operation string) (string, error) {
	// A submission and its wait have one operation id: while the wait goes on, it is the one that is meant.
	return s.findAmong(ctx, operation, wire.WorkflowAwaitJob, wire.WorkflowSubmitAndAwait)
}

// findAmong is findOperation among workflows of some types.
func (s *server) findAmong(ctx context.Context, operation string, types ...string) (string, error) {
	for _, status := range []string{runningStatus, closedStatus} {
		for _, of := range types {
			search := operationSearch{server: s, operation: operation}
			err := s.List(ctx, "WorkflowType = '"+of+"' AND "+status, search.look)
			if err != nil && !errors.Is(err, waits.ErrEnough) {
				return "", fmt.Errorf("looking for operation %q: %w", operation, err)
			}
			if id, err := search.result(); id != "" || err != nil {
				return id, err
			}
		}
	}
	return "", hinted(fmt.Errorf("no wait has the operation id %q", operation),
		"give the workflow id (jobwait/<provider>/<account>/<job>), or --provider, --account and --job; `escalations` lists what waits for an answer")
}

// operationSearch collects the workflows of one operation id.
type operationSearch struct {
	server    *server
	operation string

	listed, readThrough int
	found               []string
}

func (o *operationSearch) look(ctx context.Context, execution *workflowpb.WorkflowExecutionInfo) error {
	if o.listed++; o.listed > maxListed {
		return waits.ErrEnough
	}
	id := execution.GetExecution().GetWorkflowId()
	if o.operationOf(ctx, execution) == o.operation && !slices.Contains(o.found, id) {
		o.found = append(o.found, id)
	}
	return nil
}

// operationOf reads the memo that jobwait's own starts leave, else the spec in the first event.
func (o *operationSearch) operationOf(ctx context.Context, execution *workflowpb.WorkflowExecutionInfo) string {
	if name := o.server.MemoText(execution.GetMemo(), wire.MemoOperationID); name != "" {
		return name
	}
	if o.readThrough++; o.readThrough > maxReadThrough {
		return ""
	}
	spec, err := o.server.Spec(ctx, execution.GetExecution())
	if err != nil {
		return "" // not a wait of ours, or its history is gone
	}
	return spec.OperationID
}

func (o *operationSearch) result() (string, error) {
	if len(o.found) > 1 {
		return "", hinted(fmt.Errorf("operation id %q is that of %d jobs", o.operation, len(o.found)), "give one of these: %s", strings.Join(o.found, ", "))
	}
	return strings.Join(o.found, ""), nil
}
