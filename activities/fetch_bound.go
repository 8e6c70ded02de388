package activities

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"

	"github.com/jobwait/jobwait/wire"
)

// ErrNoOutcome reports that no wait or submission with that workflow id has ended with an outcome, or that it is not kept any more.
var ErrNoOutcome = errors.New("no outcome")

// Outcomes looks up how waits and submissions ended.
type Outcomes interface {
	// Outcome returns the outcome of the latest wait or submission with the workflow id; of a submission only the job and its result
	// are set. The error wraps ErrNoOutcome if there is none.
	Outcome(ctx context.Context, workflowID string) (wire.Outcome, error)
}

// endings asks the server.
type endings struct{ client client.Client }

func (e endings) Outcome(ctx context.Context, workflowID string) (wire.Outcome, error) {
	described, err := e.client.DescribeWorkflow(ctx, workflowID, "")
	switch {
	case errors.As(err, new(*serviceerror.NotFound)):
		return wire.Outcome{}, fmt.Errorf("%w: the server knows no %q, or no longer", ErrNoOutcome, workflowID)
	case err != nil:
		return wire.Outcome{}, err
	case described.Status != enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED:
		return wire.Outcome{}, fmt.Errorf("%w: %q has not completed", ErrNoOutcome, workflowID)
	}
	run := e.client.GetWorkflow(ctx, workflowID, described.WorkflowExecution.RunID)
	switch described.WorkflowType.Name {
	case wire.WorkflowAwaitJob:
		var outcome wire.Outcome
		return outcome, run.Get(ctx, &outcome)
	case wire.WorkflowSubmitAndAwait:
		var outcome wire.SubmitOutcome
		err := run.Get(ctx, &outcome)
		return wire.Outcome{ProviderJobID: outcome.ProviderJobID, Result: outcome.Result}, err
	default:
		return wire.Outcome{}, fmt.Errorf("%w: %q is neither a wait nor a submission", ErrNoOutcome, workflowID)
	}
}

func (a *Activities) outcomesOf(ctx context.Context) Outcomes {
	if a.outcomes != nil {
		return a.outcomes
	}
	return endings{activity.GetClient(ctx)}
}

// allowance says whether a credential may be sent to a URL. Nil: it may not, and the URL is asked without.
type allowance func(credential Credential, at *url.URL) error

// referenceOf binds a credential to what a wait has found: whoever starts a fetch chooses the URL, and must not have the
// worker's credential read whatever the provider has. The reference is the one in the outcome of the wait for that job, or of the
// submission that was answered with that job finished, or was read from the provider by the fetch itself, or lies where the
// credential's own entry allows it.
func (a *Activities) referenceOf(ctx context.Context, request wire.FetchRequest) allowance {
	found := sync.OnceValue(func() error { return a.findReference(ctx, request.Spec) })
	return func(credential Credential, at *url.URL) error {
		if request.Renewed || credential.fetches(at) {
			return nil
		}
		return found()
	}
}

func (a *Activities) findReference(ctx context.Context, spec wire.FetchSpec) error {
	for _, workflowID := range []string{
		wire.WorkflowID(spec.Provider, spec.Account, spec.ProviderJobID),
		wire.SubmitWorkflowID(spec.Provider, spec.Account, spec.OperationID), // a job that was finished at once has no wait
	} {
		outcome, err := a.outcomesOf(ctx).Outcome(ctx, workflowID)
		switch {
		case errors.Is(err, ErrNoOutcome):
		case err != nil:
			return &fetchAgain{detail: "the outcome of the wait cannot be read"}
		case outcome.ProviderJobID == spec.ProviderJobID && outcome.Result[spec.ResultName] == spec.URL:
			return nil
		}
	}
	return endFetch(wire.FetchReferenceRejected, "no wait for this job has ended with this reference as its %q, and the entry of credential %q has no fetch that allows it",
		spec.ResultName, spec.CredentialRef)
}

// followed is whether a redirect may have the credential: where who redirects has it already.
func followed(from hop) allowance {
	if !from.credential {
		return nil
	}
	return func(Credential, *url.URL) error { return nil }
}

// fetches reports whether the entry allows a URL that no outcome names.
func (c Credential) fetches(at *url.URL) bool {
	to, err := originOf(at)
	if err != nil || climbs(at.Path) {
		return false
	}
	return slices.ContainsFunc(c.Fetch, func(text string) bool {
		below, err := url.Parse(text)
		if err != nil {
			return false
		}
		own, err := originOf(below)
		return err == nil && own == to && strings.HasPrefix(at.EscapedPath(), below.EscapedPath())
	})
}

// climbs reports a path that may lead out of where it seems to lie. Some servers forget what follows a ";" in a step, or the blanks
// around it, before they look for dots.
func climbs(path string) bool {
	for step := range strings.SplitSeq(path, "/") {
		step, _, _ = strings.Cut(step, ";")
		if step = strings.TrimSpace(step); step == ".." || step == "." {
			return true
		}
	}
	return strings.ContainsAny(path, "\\%") || strings.ContainsFunc(path, isControl)
}

// checkFetch reports what is wrong with one of Fetch.
func (c Credential) checkFetch(text string) error {
	below, err := url.Parse(text)
	if err != nil || !below.IsAbs() || below.RawQuery != "" || below.Fragment != "" || !strings.HasSuffix(below.Path, "/") || climbs(below.Path) {
		return fmt.Errorf("fetch %q: write an absolute URL with a / at its end, such as https://api.example.com/v1/files/", text)
	}
	to, err := originOf(below)
	if err != nil || !c.at(to) {
		return fmt.Errorf("fetch %q is at none of the entry's origins, so that the value would not be sent there", text)
	}
	return nil
}
