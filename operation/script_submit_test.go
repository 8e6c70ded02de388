package operation_test

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jobwait/jobwait/operation"
	"github.com/jobwait/jobwait/wire"
)

// submissionScript is what a script says of a submission besides its spec.
type submissionScript struct {
	facts   wire.SubmissionFacts
	answers []planned[wire.SubmitResult]
	ends    []planned[waitEnd]
	// replaced is the operation in whose place this one submits; nil: it replaces none.
	replaced *wire.Replaced
}

// waitEnd is how the wait for a submitted job ends, and whose it is where somebody waits for the job already.
type waitEnd struct {
	result operation.AwaitResult
	owner  string
	own    bool
}

// addSubmission reads "submit IDEMPOTENCY [known=1h]": the script is one of a submission at such a provider, which knows a key
// for so long.
func (s *script) addSubmission(t *testing.T, l line) {
	t.Helper()
	s.submission = &submissionScript{facts: wire.SubmissionFacts{
		Fingerprint: "sha256:f1", Idempotency: wire.Idempotency(l.word(1)), KnowsItsWait: true,
		KeySeconds: int(duration(t, cmp.Or(l.values["known"], "0s")) / time.Second),
	}}
	s.spec = map[string]any{
		"submission_id": "report-1", "provider": "demo-export", "account": "acct-42", "credential_ref": "demo",
		"wait": map[string]any{"deadline_at": start.Add(40 * time.Minute), "max_status_requests": 12, "max_transport_failures": 3},
	}
}

// addPredecessor reads "replaces STATUS reason= job=": the submission takes the place of one that ended so.
func (s *script) addPredecessor(l line) {
	by := wire.Predecessor{SubmissionID: "report-1", DecidedBy: "ana@example.com", Comment: "once more"}
	s.spec["submission_id"], s.spec["predecessor"] = wire.SuccessorID(by.SubmissionID), by
	s.submission.replaced = &wire.Replaced{
		Predecessor: by, RunID: "run-0", Status: wire.OutcomeStatus(l.word(1)), Reason: wire.Reason(l.values["reason"]), ProviderJobID: l.values["job"],
	}
}

// plannedSubmit reads "[xN|x*] VERDICT <code|timeout|...> [state] name=value ...", "lost", or "unsent=WHY".
func plannedSubmit(t *testing.T, l line) planned[wire.SubmitResult] {
	t.Helper()
	times, l := repeats(t, l)
	p := planned[wire.SubmitResult]{left: times, latency: duration(t, cmp.Or(l.values["latency"], "200ms"))}
	switch why, unsent := l.values["unsent"]; {
	case unsent:
		p.result.Withheld = wire.Withheld{
			NotSent: wire.NotSent(why), Detail: l.values["detail"], RunID: l.values["run"], CredentialVersion: l.values["version"],
		}
	case l.word(0) == "lost":
		p.result = operation.LostSubmission()
	default:
		p.result = submitResultOf(t, l)
	}
	return p
}

func submitResultOf(t *testing.T, l line) wire.SubmitResult {
	t.Helper()
	result := wire.SubmitResult{Withheld: wire.Withheld{Detail: l.values["detail"]}, Verdict: wire.SubmitVerdict(l.word(0))}
	seen := observationOf(t, l.rest(1))
	seen.CredentialRef, seen.CredentialVersion, seen.TableDigest = "demo", cmp.Or(l.values["version"], "1"), "sha256:table"
	if result.Verdict == wire.SubmitAccepted {
		seen.Answer, seen.Detail = wire.AnswerRead, ""
		result.Job = submittedJob(l)
	}
	result.Observation = &seen
	return result
}

// submittedJob is the job that an accepted answer names, none with "job=".
func submittedJob(l line) *wire.SubmittedJob {
	job, named := l.values["job"]
	if named && job == "" {
		return nil
	}
	made := &wire.SubmittedJob{ProviderJobID: cmp.Or(job, "exp_71c"), Unusable: l.values["unusable"]}
	if made.Unusable != wire.DetailURLRejected {
		made.StatusURL = "https://api.example.com/" + made.ProviderJobID
	}
	return made
}

// plannedEnd reads "AFTER STATUS reason= detail= file=", "AFTER invalid=TEXT" or "AFTER lost=WORD", with owner=OPERATION or own.
func plannedEnd(t *testing.T, l line) planned[waitEnd] {
	t.Helper()
	end := waitEnd{owner: l.values["owner"], own: slices.Contains(l.words, "own")}
	end.result.Invalid, end.result.Lost = l.values["invalid"], l.values["lost"]
	if status := l.word(1); status != "" && status != "own" {
		end.result.Outcome = &wire.Outcome{
			Status: wire.OutcomeStatus(status), Reason: wire.Reason(l.values["reason"]), Detail: l.values["detail"], OperationID: end.owner,
		}
		if file := l.values["file"]; file != "" {
			end.result.Outcome.Result = map[string]string{"file": file}
		}
	}
	return planned[waitEnd]{left: 1, latency: duration(t, l.word(0)), result: end}
}

func (s *script) submitter(t *testing.T) func(time.Time, wire.SubmitRequest) (wire.SubmitResult, time.Duration) {
	t.Helper()
	return func(at time.Time, _ wire.SubmitRequest) (wire.SubmitResult, time.Duration) {
		next := take(t, &s.submission.answers, "a request to submit")
		answered := next.result
		if answered.Observation != nil {
			seen := *answered.Observation
			seen.SentAt = nil
			if answered.Verdict != wire.SubmitNeverLeft {
				seen.SentAt = new(at)
			}
			answered.Observation = &seen
		}
		return answered, next.latency
	}
}

// waiter holds every spec against what the wait itself checks: a job that was submitted must be one that can be waited for.
func (s *script) waiter(t *testing.T) func(time.Time, wire.Spec) (*wire.FoundOwner, operation.AwaitResult, time.Duration) {
	t.Helper()
	return func(at time.Time, spec wire.Spec) (*wire.FoundOwner, operation.AwaitResult, time.Duration) {
		next := take(t, &s.submission.ends, "a wait")
		end := next.result
		_, err := operation.Prepare(spec, at, operation.Knowledge{})
		require.NoError(t, err, "the wait for this job cannot be run")
		found := &wire.FoundOwner{
			Owner:      wire.Owner{WorkflowID: wire.WorkflowID(spec.Provider, spec.Account, spec.ProviderJobID), RunID: "run-2"},
			FirstRunID: "run-1",
		}
		switch {
		case end.own:
			found.ParentWorkflowID = wire.SubmitWorkflowID(spec.Provider, spec.Account, spec.OperationID)
		case end.owner == "":
			found = nil
		}
		if end.owner != "" {
			owner := found.Owner
			owner.OperationID = end.owner
			end.result.Owner = &owner
		}
		return found, end.result, next.latency
	}
}

// checkSubmit holds a request to submit against "submit 2 generation=1 key=1 from=+1s before=+10s": keys are counted as they come.
func (e expect) checkSubmit(t *testing.T, p *playedScript, where string) {
	t.Helper()
	n := number(t, e.line.word(1))
	require.GreaterOrEqual(t, len(p.submits), n, where)
	var keys []string
	for _, one := range p.submits {
		if key := one.request.Key; key != "" && !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
	one := p.submits[n-1]
	e.checkBetween(t, one.at, where)
	e.checkFields(t, map[string]string{
		"generation": strconv.Itoa(one.request.Generation), "key": strconv.Itoa(slices.Index(keys, one.request.Key) + 1),
		"credential": one.request.CredentialRef, "fingerprint": one.request.Fingerprint,
		"from": e.line.values["from"], "before": e.line.values["before"], // checkBetween's
	}, where)
}

// checkWait holds a wait that was asked for against "wait 1 job=exp_71c deadline=+40m0s".
func (e expect) checkWait(t *testing.T, p *playedScript, where string) {
	t.Helper()
	n := number(t, e.line.word(1))
	require.GreaterOrEqual(t, len(p.waits), n, where)
	spec := p.waits[n-1]
	var params []string
	for name, value := range spec.Params {
		params = append(params, name+"="+value)
	}
	slices.Sort(params)
	e.checkFields(t, map[string]string{
		"job": spec.ProviderJobID, "url": spec.StatusURL, "operation": spec.OperationID, "credential": spec.CredentialRef,
		"fingerprint": spec.RequestFingerprint, "requests": strconv.Itoa(spec.MaxStatusRequests), "params": strings.Join(params, ","),
		"deadline": afterStart(&spec.DeadlineAt), "business": afterStart(spec.BusinessDeadlineAt), "expires": afterStart(spec.ProviderExpiresAt),
	}, where)
}

func afterStart(at *time.Time) string {
	if at == nil {
		return ""
	}
	return "+" + at.Sub(start).String()
}

// submittedFields are what the outcome of a submission has besides that of its operation.
func submittedFields(o wire.SubmitOutcome) map[string]string {
	var before []string
	for _, one := range o.Before {
		before = append(before, strings.Join([]string{
			strconv.Itoa(one.Generation), cmp.Or(one.ProviderJobID, "unknown"), string(one.Status), string(one.Reason), one.DecidedBy,
		}, " "))
	}
	replaces := ""
	if o.Predecessor != nil {
		replaces = operation.ReplacedText(*o.Predecessor)
	}
	owner := ""
	if o.Owner != nil {
		owner = cmp.Or(o.Owner.OperationID, "unknown")
	}
	return map[string]string{
		"job": o.ProviderJobID, "generation": strconv.Itoa(o.Generation), "before": strings.Join(before, "; "), "owner": owner,
		"replaces": replaces, "waited": strconv.FormatBool(o.WaitWorkflowID != ""), "file": o.Result["file"],
	}
}
