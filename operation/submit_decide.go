package operation

import (
	"cmp"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"time"

	"github.com/jobwait/jobwait/wire"
)

// attachedWord is the detail of the audit entry for a job that a person named.
const attachedWord = "attached"

// maxGenerations bounds the generations of a submission.
const maxGenerations = 20

// attach continues with the job that a person found at the provider.
func (o *Operation) attach(now time.Time, d wire.Decision) {
	s := o.rec.Submission
	s.Job = attachedJob(d, s.Named)
	s.Attached, s.DecidedAt, s.SubmittedAt = true, now.UTC(), nil
	s.Await, s.WaitRunID = wire.AwaitWanted, ""
	o.note(wire.Entry{At: now, Event: wire.EventSubmitted, Reason: d.ProviderJobID, Detail: attachedWord})
	o.goOn()
}

// attachedJob returns the job that a person names. If the provider's answer named it too, what the answer says is kept unless the
// person says otherwise.
func attachedJob(d wire.Decision, named *wire.SubmittedJob) *wire.SubmittedJob {
	job := &wire.SubmittedJob{ProviderJobID: d.ProviderJobID, StatusURL: d.StatusURL, Params: d.Params}
	if named != nil && named.ProviderJobID == d.ProviderJobID {
		job.StatusURL, job.Params = cmp.Or(d.StatusURL, named.StatusURL), merged(named.Params, d.Params)
	}
	return job
}

// resubmit submits again, as a new generation with a new key, and raises the limits as far as that one request needs.
func (o *Operation) resubmit(now time.Time, d wire.Decision) {
	o.rec.Submission.Before = append(o.rec.Submission.Before, o.replaced(d))
	o.nextGeneration()
	o.rec.Submission.DecidedAt = now.UTC()
	o.rec.LastRawState, o.rec.LastCategory, o.rec.Terminal = "", "", nil
	limits, used := &o.rec.Limits, o.rec.Counters
	limits.MaxStatusRequests = max(limits.MaxStatusRequests, used.StatusRequestsUsed+1)
	limits.MaxTransportFailures = max(limits.MaxTransportFailures, used.TransportFailuresUsed+1)
	limits.MaxRateLimited = max(limits.MaxRateLimited, used.RateLimitedUsed+1)
	length := o.rec.Prepared.Limits.DeadlineAt.Sub(o.rec.OpenedAt)
	limits.DeadlineAt = later(limits.DeadlineAt, ceilMillisecond(now.Add(length)).UTC())
	if business := limits.BusinessDeadlineAt; business != nil && !business.After(now) {
		limits.BusinessDeadlineAt = nil
	}
	o.pollAgain(now)
}

// replaced returns the generation that a person has just replaced.
func (o *Operation) replaced(d wire.Decision) wire.EarlierSubmission {
	s, open := o.rec.Submission, o.rec.Escalation
	earlier := wire.EarlierSubmission{
		Generation: s.Generation, Status: closeStatus(open.Reason), Reason: open.Reason, DecidedBy: d.DecidedBy,
	}
	if s.Job != nil {
		earlier.ProviderJobID = s.Job.ProviderJobID
	}
	return earlier
}

// badJobID says what is wrong with a job's id; empty if nothing is. An id that makes the workflow id too long must not reach the
// child: the server would reject the workflow task that starts it, forever.
func (o *Operation) badJobID(id string) string {
	if why := badID(namedID{"provider_job_id", id}); why != "" {
		return why
	}
	spec := o.rec.Prepared.Spec
	if n := len(wire.WorkflowID(spec.Provider, spec.Account, id)); n > wire.MaxWorkflowIDBytes {
		return fmt.Sprintf("provider_job_id gives a workflow id of %d bytes, at most %d are allowed", n, wire.MaxWorkflowIDBytes)
	}
	return ""
}

// badAttachment says what is wrong with the job that a person names; empty if nothing is. The wait checks what only the table
// knows.
func (o *Operation) badAttachment(d wire.Decision) string {
	if d.Kind != wire.DecisionAttach {
		return ""
	}
	if bad := o.badJobID(d.ProviderJobID); bad != "" {
		return bad
	}
	if bad := badParams(d.Params); bad != "" || d.StatusURL == "" {
		return bad
	}
	at, err := url.Parse(d.StatusURL)
	switch {
	case len(d.StatusURL) > MaxURLBytes:
		return fmt.Sprintf("status_url has %d bytes, at most %d are allowed", len(d.StatusURL), MaxURLBytes)
	case err != nil || at.Scheme != "https" && at.Scheme != "http" || at.Host == "":
		return "status_url is not absolute, write https://host/path"
	case at.User != nil:
		return "status_url has a user or a password in it"
	default:
		return ""
	}
}

// The bounds of params in a decision.
const (
	maxAttachedParams = 20
	maxParamName      = 64   // characters
	maxParam          = 1024 // characters
)

// badParams says which bound the params break first; empty if none. The table decides which params there are and what they look
// like.
func badParams(params map[string]string) string {
	if len(params) > maxAttachedParams {
		return fmt.Sprintf("params has %d entries, at most %d are allowed", len(params), maxAttachedParams)
	}
	for _, name := range slices.Sorted(maps.Keys(params)) { //workflowcheck:ignore
		if name == "" || params[name] == "" {
			return fmt.Sprintf("params: %q has no name or no value", bounded(name, maxParamName))
		}
		if why := tooLong(givenText{"the name of a param", name, maxParamName}, givenText{"param " + name, params[name], maxParam}); why != "" {
			return why
		}
	}
	return ""
}
