package activities

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"time"

	"go.temporal.io/sdk/activity"

	"github.com/jobwait/jobwait/statetables"
	"github.com/jobwait/jobwait/wire"
)

// refusal is why a request does not leave. Nothing was sent.
type refusal struct {
	why    wire.NotSent
	detail string
	// runID is set with history_reset, version with credential_denied.
	runID, version string
	// until is set with held_back.
	until time.Time
}

func refuse(why wire.NotSent, format string, values ...any) *refusal {
	return &refusal{why: why, detail: detail(format, values...)}
}

// detail is what stands in history of why something was not done. A source of credentials may quote a whole page in its errors.
func detail(format string, values ...any) string {
	return fmt.Sprintf("%.1024s", fmt.Sprintf(format, values...))
}

// cleared is a request that may be sent.
type cleared struct {
	table   *statetables.Table
	request statetables.Request // with the secret where it belongs
	to      origin
	version string
	secret  Secret
}

// build makes a request from a table: StatusRequest, CancelRequest or SubmitRequest.
type build func(*statetables.Table, wire.Target) (statetables.Request, error)

// clear looks at everything that can refuse a request, before anything leaves.
func (a *Activities) clear(ctx context.Context, c call) (cleared, *refusal) {
	if refused := checkRun(ctx, c.authority); refused != nil {
		return cleared{}, refused
	}
	table, ok := a.tables.Table(c.target.Provider)
	if !ok {
		return cleared{}, refuse(wire.NotSentTableMissing, "this worker has no table for provider %q", c.target.Provider)
	}
	request, err := c.build(table, c.target)
	if err != nil {
		return cleared{}, refuseBuild(err)
	}
	ready := cleared{table: table, request: request}
	refused := a.authorize(ctx, &ready, c.target, c.authority)
	if refused == nil && c.check != nil {
		refused = c.check(table)
	}
	return ready, refused
}

// checkRun detects a workflow reset: the run that executes is neither the one that the history began with nor one that a
// person has acknowledged (R31).
func checkRun(ctx context.Context, authority wire.Authority) *refusal {
	if runID, reset := resetRun(ctx, authority.OriginalRunID); reset && !slices.Contains(authority.AcknowledgedRuns, runID) {
		return &refusal{why: wire.NotSentHistoryReset, runID: runID}
	}
	return nil
}

// resetRun is the run that executes, and whether it came about by a reset. The test environment of the SDK knows no
// original run.
func resetRun(ctx context.Context, original string) (runID string, reset bool) {
	runID = activity.GetInfo(ctx).WorkflowExecution.RunID
	return runID, original != "" && original != runID
}

func refuseBuild(err error) *refusal {
	if rejected, ok := errors.AsType[*statetables.URLRejectedError](err); ok {
		return refuse(wire.NotSentURLRejected, "%s", rejected.Error())
	}
	return refuse(wire.NotSentTableMissing, "the worker's table builds no such request for this job any more")
}

// authorize puts the credential into the request, if it may go where the request goes.
func (a *Activities) authorize(ctx context.Context, ready *cleared, target wire.Target, authority wire.Authority) *refusal {
	if !ready.request.Auth.Needed() {
		return ready.head()
	}
	ref := target.CredentialRef
	credential, err := a.credentials.Credential(ctx, ref)
	switch {
	case err != nil:
		return refuse(wire.NotSentCredentialUnresolved, "%s", withoutURL(err))
	case slices.Contains(authority.DeniedVersions, credential.Version):
		return &refusal{why: wire.NotSentCredentialDenied, version: credential.Version}
	}
	if err := credential.allows(ref, target.Provider, target.Account); err != nil {
		return refuse(wire.NotSentURLRejected, "%s", err)
	}
	if ready.request, err = ready.request.Choose(credential.Scheme); err != nil {
		return refuse(wire.NotSentCredentialUnresolved, "credential %q: %s", ref, err)
	}
	if refused := ready.head(); refused != nil {
		return refused
	}
	if err := credential.reaches(ref, ready.to); err != nil {
		return refuse(wire.NotSentURLRejected, "%s", err)
	}
	if rule := credential.approval(); authority.ApprovalUnasked && rule != wire.ApprovalNone {
		return refuse(wire.NotSentApprovalRequired, "%s", rule)
	}
	return ready.reveal(ctx, credential)
}

// reveal is the only place where a secret becomes part of a request.
func (c *cleared) reveal(ctx context.Context, credential Credential) *refusal {
	secret, err := credential.Read(ctx)
	if err != nil {
		return refuse(wire.NotSentCredentialUnresolved, "%s", withoutURL(err))
	}
	c.request = c.request.Authorize(secret.Reveal())
	c.version, c.secret = credential.Version, secret
	return nil
}

// head notes where the request goes, if it may go there.
func (c *cleared) head() (refused *refusal) {
	c.to, refused = destination(c.request)
	return refused
}

// destination is the origin of a request, if the table accepts it (R51). An address that is written out is looked at here
// too, because a proxy would dial it in our place (R52).
func destination(request statetables.Request) (origin, *refusal) {
	target, err := url.Parse(request.URL)
	if err != nil {
		return origin{}, refuse(wire.NotSentURLRejected, "the URL cannot be parsed")
	}
	to, err := originOf(target)
	if err != nil {
		return origin{}, refuse(wire.NotSentURLRejected, "%s", err)
	}
	if !to.among(request.Origins) {
		return origin{}, refuse(wire.NotSentURLRejected, "the URL is not at an origin that the table accepts")
	}
	if addr, err := netip.ParseAddr(to.host); err == nil && !request.AllowPrivateNetwork && !publicAddr(addr) {
		return origin{}, refuse(wire.NotSentURLRejected, "%s", &addressError{})
	}
	return to, nil
}
