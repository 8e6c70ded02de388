package activities

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"
	"gocloud.dev/blob"
	"gocloud.dev/gcerrors"

	"github.com/jobwait/jobwait/operation"
	"github.com/jobwait/jobwait/statetables"
	"github.com/jobwait/jobwait/wire"
)

// progressEvery is how often a fetch tells that it is alive.
const progressEvery = 3 * time.Second

// The metadata by which an object tells which fetch wrote it: a workflow id, and the first run of that execution. What a version
// wrote that knew no runs has the first alone.
const (
	ownerKey = "jobwait-workflow"
	runKey   = "jobwait-run"
)

// FetchResult copies one result to its destination. It may be repeated: a result is requested with GET, and an object
// appears whole or not at all. What repeating would not change is the outcome; an error is an application error of type
// wire.ErrorFetchInterrupted, with a word for what broke, and asks for another attempt.
func (a *Activities) FetchResult(ctx context.Context, request wire.FetchRequest) (wire.FetchResponse, error) {
	got, err := a.carry(ctx, request)
	outcome := operation.FetchEnded(request.Spec, wire.FetchDone, "", "")
	outcome.Attempts, outcome.Renewed, outcome.Resumed = int(activity.GetInfo(ctx).Attempt), request.Renewed, got.resumed
	kind := "fetched"
	defer func() { count(ctx, "jobwait_results_fetched", request.Spec.Provider, kind) }()
	switch err := err.(type) { //nolint:errorlint // the two are made here and never wrapped
	case nil:
		outcome.Bytes, outcome.SHA256, outcome.ContentType = got.bytes, got.sha256, got.contentType
		return wire.FetchResponse{Outcome: outcome}, nil
	case *fetchEnd:
		kind = string(err.reason)
		renewable := err.renewable && a.asksFreely(ctx, request.Spec)
		if renewable != err.renewable {
			err.detail += "; the status request that would renew it takes a person's approval"
		}
		outcome.Status, outcome.Reason, outcome.Detail = wire.FetchFailed, err.reason, err.detail
		return wire.FetchResponse{Outcome: outcome, Renewable: renewable}, nil
	case *fetchAgain:
		kind = "interrupted"
		return wire.FetchResponse{}, temporal.NewApplicationErrorWithOptions(err.detail, wire.ErrorFetchInterrupted,
			temporal.ApplicationErrorOptions{NextRetryDelay: err.after})
	default:
		return wire.FetchResponse{}, err
	}
}

// asksFreely reports whether the credential may be used for a status request without asking anybody: a fetch has nobody to ask.
// One that cannot be found is told by the request itself.
func (a *Activities) asksFreely(ctx context.Context, spec wire.FetchSpec) bool {
	if spec.CredentialRef == "" {
		return true
	}
	credential, err := a.credentials.Credential(ctx, spec.CredentialRef)
	return err != nil || credential.approval() == wire.ApprovalNone
}

// fetchEnd ends a fetch: another attempt would end the same.
type fetchEnd struct {
	reason wire.FetchReason
	detail string
	// renewable says that the provider's status has a fresh reference.
	renewable bool
}

func (e *fetchEnd) Error() string { return string(e.reason) + ": " + e.detail }

func endFetch(reason wire.FetchReason, format string, values ...any) *fetchEnd {
	return &fetchEnd{reason: reason, detail: detail(format, values...)}
}

// fetchAgain ends one attempt of a fetch. after is what the provider asks for; 0: the workflow's own backoff.
type fetchAgain struct {
	detail string
	after  time.Duration
}

func (e *fetchAgain) Error() string { return e.detail }

// carried is what a fetch has carried.
type carried struct {
	bytes       int64
	sha256      string
	contentType string
	resumed     int
}

// carry copies the result. An error leaves nothing of it at the destination.
func (a *Activities) carry(ctx context.Context, request wire.FetchRequest) (carried, error) {
	spec := request.Spec
	table, err := a.tableFor(spec)
	if err != nil {
		return carried{}, err
	}
	to, err := a.openObject(ctx, request)
	if err != nil {
		return carried{}, err
	}
	source := &download{
		sender: a.sender, reference: a.referenceOf(ctx, request),
		pass: func(ctx context.Context, at hop) (*passage, error) { return a.passLane(ctx, table, spec, at) },
		clear: func(ctx context.Context, address string, allowed allowance) (hop, error) {
			return a.clearHop(ctx, table, spec, address, allowed)
		},
		address: spec.URL, limit: to.limit, patience: fetchPatience,
	}
	defer beat(ctx, progressEvery, func() { activity.RecordHeartbeat(ctx, wire.FetchProgress{Bytes: source.done.Load()}) })()
	got, err := to.fill(ctx, spec, source)
	got.resumed = source.resumed
	switch {
	case err != nil && ctx.Err() != nil: // whatever it looks like, somebody ended it
		err = ctx.Err()
	case errors.Is(err, errWorkerStops):
		err = &fetchAgain{detail: err.Error()}
	}
	return got, err
}

// tableFor holds the job against its table, as prepare does for a wait: the account says which credential and destination are
// for it, and params say where it is asked for (R51).
func (a *Activities) tableFor(spec wire.FetchSpec) (*statetables.Table, error) {
	table, ok := a.tables.Table(spec.Provider)
	if !ok {
		return nil, endFetch(wire.FetchReferenceRejected, "this worker has no table for provider %q", spec.Provider)
	}
	if err := table.CheckTarget(spec.Target()); err != nil {
		return nil, endFetch(wire.FetchReferenceRejected, "%s", err)
	}
	return table, nil
}

// object is where a result goes.
type object struct {
	bucket *blob.Bucket
	key    string
	// mark is what the object tells of who wrote it.
	mark map[string]string
	// fresh says that there was nothing of that name.
	fresh bool
	limit int64
}

// openObject finds the destination and sees to it that no result of another fetch is overwritten.
func (a *Activities) openObject(ctx context.Context, request wire.FetchRequest) (object, error) {
	spec := request.Spec
	destination, ok := a.destinations[spec.Destination]
	if !ok {
		return object{}, endFetch(wire.FetchDestinationUnknown, "this worker has no destination %q", spec.Destination)
	}
	if !destination.allows(spec.Provider, spec.Account) {
		return object{}, endFetch(wire.FetchDestinationUnknown, "destination %q is not for this provider and account", spec.Destination)
	}
	to := object{
		bucket: destination.Bucket, key: spec.Key, limit: spec.MaxBytes,
		mark: markOf(activity.GetInfo(ctx).WorkflowExecution.ID, request.FirstRunID),
	}
	if destination.MaxBytes > 0 {
		to.limit = min(to.limit, destination.MaxBytes)
	}
	there, err := to.bucket.Attributes(ctx, to.key)
	switch {
	case gcerrors.Code(err) == gcerrors.NotFound:
		to.fresh = true
	case err != nil:
		return object{}, unwritable(err)
	case !to.own(there):
		return object{}, endFetch(wire.FetchDestinationTaken, "an object of that key is there, and this fetch did not write it")
	}
	return to, nil
}

func markOf(workflowID, firstRunID string) map[string]string {
	mark := map[string]string{ownerKey: workflowID}
	if firstRunID != "" {
		mark[runKey] = firstRunID
	}
	return mark
}

// own reports whether this fetch has written what is there. Another fetch of the same workflow id has not: what that one's record
// tells of the object stays so.
func (o object) own(there *blob.Attributes) bool {
	return there.Metadata[ownerKey] == o.mark[ownerKey] && there.Metadata[runKey] == o.mark[runKey]
}

// unwritable is a destination that fails. Its words are a driver's, and may name what nobody should read: only the kind of
// the failure is kept.
func unwritable(err error) error {
	switch code := gcerrors.Code(err); code { //nolint:exhaustive // the other kinds may pass
	case gcerrors.FailedPrecondition:
		return endFetch(wire.FetchDestinationTaken, "an object of that key came to be meanwhile")
	case gcerrors.PermissionDenied, gcerrors.InvalidArgument, gcerrors.Unimplemented:
		return endFetch(wire.FetchDestinationFailed, "%s", code)
	default:
		return &fetchAgain{detail: wire.FetchDestination + code.String()}
	}
}

// fill writes the object. It is there when the writer is closed, and not at all when its context ends before.
func (o object) fill(ctx context.Context, spec wire.FetchSpec, source *download) (carried, error) {
	ctx, abort := context.WithCancel(ctx)
	defer abort()
	if err := source.open(ctx); err != nil {
		return carried{}, err
	}
	defer source.close()
	if source.endless() && spec.ExpectedBytes == nil && spec.ExpectedSHA256 == "" {
		return carried{}, endFetch(wire.FetchUnexpectedAnswer, "neither its length nor its end is announced, so that one that is cut looks whole; set expected_bytes or expected_sha256")
	}
	writer, err := o.bucket.NewWriter(ctx, o.key, &blob.WriterOptions{
		ContentType: source.contentType(), ContentEncoding: source.header("Content-Encoding"), DisableContentTypeDetection: true,
		Metadata: o.mark, IfNotExist: o.fresh, MaxConcurrency: 1,
	})
	if err != nil {
		return carried{}, unwritable(err)
	}
	got, err := source.copyTo(ctx, writer)
	if err == nil {
		err = matches(spec, got, source.endless())
	}
	if err != nil {
		abort()
		_ = writer.Close() // says that it was aborted
		return carried{}, err
	}
	if err := writer.Close(); err != nil {
		return carried{}, o.unwritten(ctx, err)
	}
	got.contentType = source.contentType()
	return got, nil
}

// unwritten tells an object of somebody else's, which came to be meanwhile, from that of another attempt of this fetch, whose worker
// counted as lost and was not: the next attempt finds its own.
func (o object) unwritten(ctx context.Context, err error) error {
	if gcerrors.Code(err) == gcerrors.FailedPrecondition {
		there, unread := o.bucket.Attributes(ctx, o.key)
		if unread == nil && o.own(there) {
			return &fetchAgain{detail: wire.FetchDestination + "another attempt has written it"}
		}
	}
	return unwritable(err)
}

// matches holds what came against what was expected. An answer that ends where its connection does may have been cut: where it can
// be, it is asked for again.
func matches(spec wire.FetchSpec, got carried, endless bool) error {
	short := spec.ExpectedBytes != nil && *spec.ExpectedBytes > got.bytes
	other := spec.ExpectedSHA256 != "" && spec.ExpectedSHA256 != got.sha256
	switch {
	case endless && (short || spec.ExpectedBytes == nil && other):
		return &fetchAgain{detail: fmt.Sprintf("it ended after %d bytes and may have been cut", got.bytes)}
	case spec.ExpectedBytes != nil && *spec.ExpectedBytes != got.bytes:
		return endFetch(wire.FetchWrongLength, "%d bytes came, %d were expected", got.bytes, *spec.ExpectedBytes)
	case other:
		return endFetch(wire.FetchWrongDigest, "the SHA-256 is %s", got.sha256)
	default:
		return nil
	}
}
