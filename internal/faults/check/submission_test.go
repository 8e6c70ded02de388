package check_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"

	"github.com/jobwait/jobwait/internal/faults/check"
	"github.com/jobwait/jobwait/wire"
)

// filed is a small submission, told by hand.
type filed struct {
	*told
	submission check.Submission
	fields     wire.SubmitOutcome
}

// file begins a submission that has 60 seconds and 4 requests.
func file(keyed bool) *filed {
	return &filed{told: tell(), submission: check.Submission{
		Keyed: keyed, Waits: map[string]check.Wait{}, Most: wire.GrantBounds{Seconds: 90, StatusRequests: 2},
		Spec: wire.SubmitSpec{
			SubmissionID: "s", MaxSubmitRequests: 4,
			Wait: wire.SubmitWait{DeadlineAt: at(60), MaxStatusRequests: 4, MaxTransportFailures: 3, Schedule: wire.Schedule{MinDelaySeconds: new(2)}},
		},
	}, fields: wire.SubmitOutcome{SubmissionID: "s", Generation: 1, Fingerprint: "sha256:f"}}
}

// reserved is what history has of a request before it may leave.
func reserved(generation int, key string) wire.SubmitRequest {
	return wire.SubmitRequest{Generation: generation, Key: key, Fingerprint: "sha256:f", NotAfter: at(60)}
}

// submits is a request to submit with its answer, as history and provider have it. It makes the job "j" unless change says else.
func (f *filed) submits(seconds float64, request wire.SubmitRequest, change func(*check.Request)) *filed {
	id := f.reservesFor(seconds, wire.ActivitySubmit, request)
	f.received(seconds, func(r *check.Request) {
		r.Kind, r.Status, r.State, r.Report, r.IdempotencyKey, r.Made = "submit", 202, "", "s", request.Key, true
		if change != nil {
			change(r)
		}
	})
	got := f.wait.Requests[len(f.wait.Requests)-1]
	seen := wire.Observation{HTTPStatus: got.Status, SentAt: new(at(seconds)), ReceivedAt: new(at(seconds))}
	if got.Ending != "answered" {
		seen = wire.Observation{Answer: wire.AnswerTransportFailure, Detail: wire.TransportLost}
	}
	f.completes(seconds+0.1, id, wire.SubmitResult{Verdict: wire.SubmitAccepted, Observation: &seen})
	f.fields.SubmitRequestsUsed++
	f.fields.IdempotencyKey = request.Key
	return f
}

// What can come of a request besides an accepted job.
func answerLost(r *check.Request) { r.Ending, r.Status = "closed", 0 }
func cutBefore(r *check.Request)  { r.Ending, r.Status, r.Made, r.Job = "reset", 0, false, "" }
func notYet(r *check.Request)     { r.Status, r.Made, r.Job = 429, false, "" }
func known(r *check.Request)      { r.Made = false }
func another(r *check.Request)    { r.Job = "j2" }

// says is a decision that was applied to the submission.
func (f *filed) says(seconds float64, d wire.Decision) *filed {
	f.escalates(seconds - 1)
	f.decides(seconds, d)
	return f
}

// awaits adds the wait of a job, of that operation, which succeeds.
func (f *filed) awaits(job, operation string) *filed {
	w := tell()
	w.wait.Spec.OperationID, w.wait.Spec.RequestFingerprint = operation, "sha256:f"
	w.succeeds(20, 1)
	f.submission.Waits[job] = w.wait
	return f
}

// ends gives the submission the outcome of the wait of that job.
func (f *filed) ends(job string, change func(*wire.SubmitOutcome)) *filed {
	wait := f.submission.Waits[job]
	f.fields.Status, f.fields.ProviderJobID, f.fields.WaitWorkflowID = wire.StatusSucceeded, job, "jobwait/demo-export/a/"+job
	f.fields.Wait = &wire.Outcome{Status: wire.StatusSucceeded, AuditHead: wait.Runs[0].Audit.Head}
	return f.closed(change)
}

func (f *filed) closed(change func(*wire.SubmitOutcome)) *filed {
	f.entry(30, wire.EventClosed, nil)
	for _, run := range f.wait.Runs {
		f.fields.AuditEntries += len(run.Audit.Entries)
		f.fields.AuditHead = run.Audit.Head
	}
	if change != nil {
		change(&f.fields)
	}
	f.event(30, enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_COMPLETED, func(e *historypb.HistoryEvent) {
		e.Attributes = &historypb.HistoryEvent_WorkflowExecutionCompletedEventAttributes{
			WorkflowExecutionCompletedEventAttributes: &historypb.WorkflowExecutionCompletedEventAttributes{Result: payload(f.fields)},
		}
	})
	return f
}

// carries begins a run that continues with that key and fingerprint.
func (f *filed) carries(seconds float64, key, fingerprint string) *filed {
	f.continues(seconds, "run-2", "run-1")
	record := map[string]any{
		"prepared": map[string]any{"submission": map[string]any{"fingerprint": fingerprint}}, "submission": map[string]any{"generation": 1, "key": key},
	}
	input := payload("the spec")
	input.Payloads = append(input.Payloads, payload(record).GetPayloads()...)
	f.events[0].GetWorkflowExecutionStartedEventAttributes().Input = input
	return f
}

func (f *filed) check() []check.Violation {
	f.submission.Runs, f.submission.Requests = f.wait.Runs, f.wait.Requests
	return f.submission.Check(at(100))
}

func again(generation int) func(*wire.SubmitOutcome) {
	return func(o *wire.SubmitOutcome) {
		o.Generation, o.Before = generation, make([]wire.EarlierSubmission, generation-1)
	}
}

// TestCleanSubmissionsBreakNoRule: the stories below differ from these in one thing each.
func TestCleanSubmissionsBreakNoRule(t *testing.T) {
	t.Parallel()
	resubmit, attach := decision(wire.DecisionResubmit), decision(wire.DecisionAttach)
	for name, story := range map[string]*filed{
		"accepted":               file(true).submits(5, reserved(1, "k"), nil).awaits("j", "s").ends("j", nil),
		"repeated with its key":  file(true).submits(5, reserved(1, "k"), answerLost).submits(9, reserved(1, "k"), known).awaits("j", "s").ends("j", nil),
		"attached":               file(false).submits(5, reserved(1, ""), answerLost).says(8, attach).awaits("j", "s").ends("j", nil),
		"attached and owned":     file(false).submits(5, reserved(1, ""), answerLost).says(8, attach).awaits("j", "x").ends("j", func(o *wire.SubmitOutcome) { o.Owner = &wire.Owner{OperationID: "x"} }),
		"submitted again":        file(false).submits(5, reserved(1, ""), cutBefore).says(8, resubmit).submits(9, reserved(2, ""), nil).awaits("j", "s").ends("j", again(2)),
		"twice, by decision":     file(true).submits(5, reserved(1, "k"), answerLost).says(8, resubmit).submits(9, reserved(2, "l"), another).awaits("j2", "s").ends("j2", again(2)),
		"later":                  file(false).submits(5, reserved(1, ""), notYet).submits(9, reserved(1, ""), nil).awaits("j", "s").ends("j", nil),
		"refused":                file(true).submits(5, reserved(1, "k"), notYet).closed(func(o *wire.SubmitOutcome) { o.Status = wire.StatusRefused }),
		"its wait goes on":       file(true).submits(5, reserved(1, "k"), nil).waiting("j"),
		"over two runs":          file(true).submits(5, reserved(1, "k"), answerLost).carries(7, "k", "sha256:f").submits(9, reserved(1, "k"), known).awaits("j", "s").ends("j", nil),
		"past the first by word": file(false).submits(5, reserved(1, ""), cutBefore).says(58, resubmit).submits(70, reserved(2, ""), nil).awaits("j", "s").ends("j", again(2)),
	} {
		for i := range story.wait.Runs {
			require.NotEmpty(t, story.wait.Runs[i].History.GetEvents(), name)
		}
		require.Empty(t, story.check(), name)
	}
}

// within has the wait of the job bound in another way.
func (f *filed) within(change func(*wire.Spec)) *filed {
	wait := f.submission.Waits["j"]
	change(&wait.Spec)
	f.submission.Waits["j"] = wait
	return f
}

func (f *filed) stopped(seconds float64) *filed {
	f.toldToStop(seconds)
	return f
}

// waiting has a wait that goes on.
func (f *filed) waiting(job string) *filed {
	f.submission.Waits[job] = tell().poll(10, "running", nil).wait
	return f
}

// TestEachRuleOfSubmissionsIsFound plants one fault in each story.
func TestEachRuleOfSubmissionsIsFound(t *testing.T) {
	t.Parallel()
	resubmit := decision(wire.DecisionResubmit)
	accepted := func() *filed { return file(true).submits(5, reserved(1, "k"), nil).awaits("j", "s") }
	for name, c := range map[string]struct {
		story *filed
		want  string
	}{
		"sent again without a key":        {file(false).submits(5, reserved(1, ""), cutBefore).submits(9, reserved(1, ""), nil).awaits("j", "s").ends("j", nil), check.RuleSubmission},
		"a second job":                    {file(true).submits(5, reserved(1, "k"), nil).submits(9, reserved(1, "k"), another).awaits("j2", "s").ends("j2", nil), check.RuleSubmission},
		"another key":                     {file(true).submits(5, reserved(1, "k"), answerLost).submits(9, reserved(1, "l"), known).awaits("j", "s").ends("j", nil), check.RuleSubmission},
		"the same key once more":          {file(true).submits(5, reserved(1, "k"), answerLost).says(8, resubmit).submits(9, reserved(2, "k"), another).awaits("j2", "s").ends("j2", again(2)), check.RuleSubmission},
		"another key than was reserved":   {file(true).submits(5, reserved(1, "k"), func(r *check.Request) { r.IdempotencyKey = "l" }).awaits("j", "s").ends("j", nil), check.RuleSubmission},
		"no key where there is one":       {file(true).submits(5, reserved(1, ""), nil).awaits("j", "s").ends("j", nil), check.RuleSubmission},
		"a generation that nobody wanted": {file(true).submits(5, reserved(2, "k"), nil).awaits("j", "s").ends("j", nil), check.RuleSubmission},
		"no fingerprint":                  {file(true).submits(5, wire.SubmitRequest{Generation: 1, Key: "k"}, nil).awaits("j", "s").ends("j", nil), check.RuleSubmission},
		"another fingerprint": {file(true).submits(5, reserved(1, "k"), answerLost).
			submits(9, wire.SubmitRequest{Generation: 1, Key: "k", Fingerprint: "sha256:g"}, known).awaits("j", "s").ends("j", nil), check.RuleSubmission},
		"a run without the key":         {file(true).submits(5, reserved(1, "k"), answerLost).carries(7, "", "sha256:f").submits(9, reserved(1, "k"), known).awaits("j", "s").ends("j", nil), check.RuleSubmission},
		"a run without the fingerprint": {file(true).submits(5, reserved(1, "k"), answerLost).carries(7, "k", "").submits(9, reserved(1, "k"), known).awaits("j", "s").ends("j", nil), check.RuleSubmission},
		"a job of somebody else":        {accepted().ends("j", func(o *wire.SubmitOutcome) { o.ProviderJobID = "j9" }), check.RuleSubmission},
		"a job without a wait":          {file(true).submits(5, reserved(1, "k"), nil).unawaited("j"), check.RuleSubmission},
		"an owner that is not named":    {file(true).submits(5, reserved(1, "k"), nil).awaits("j", "x").ends("j", nil), check.RuleSubmission},
		"an owner that is none":         {accepted().ends("j", func(o *wire.SubmitOutcome) { o.Owner = &wire.Owner{OperationID: "s"} }), check.RuleSubmission},
		"an outcome with another key":   {accepted().ends("j", func(o *wire.SubmitOutcome) { o.IdempotencyKey = "l" }), check.RuleSubmission},
		"a wait of something else":      {accepted().ends("j", func(o *wire.SubmitOutcome) { o.Fingerprint = "sha256:g" }), check.RuleSubmission},
		"a wait of more requests":       {accepted().within(func(s *wire.Spec) { s.MaxStatusRequests++ }).ends("j", nil), check.RuleSubmission},
		"a wait of more time":           {accepted().within(func(s *wire.Spec) { s.DeadlineAt = at(90) }).ends("j", nil), check.RuleSubmission},
		"told to stop, and goes on":     {file(true).submits(5, reserved(1, "k"), answerLost).stopped(7).submits(9, reserved(1, "k"), known).awaits("j", "s").ends("j", nil), check.RuleStop},
		"without its credential":        {file(true).submits(5, reserved(1, "k"), func(r *check.Request) { r.Authorized = false }).awaits("j", "s").ends("j", nil), check.RuleCredential},
		"another outcome of the wait":   {accepted().ends("j", func(o *wire.SubmitOutcome) { o.Wait.AuditHead = "sha256:0" }), check.RuleOutcome},
		"an outcome beside the wait's":  {accepted().ends("j", func(o *wire.SubmitOutcome) { o.Status = wire.StatusFailed }), check.RuleOutcome},
		"refused with a job":            {file(true).submits(5, reserved(1, "k"), nil).closed(func(o *wire.SubmitOutcome) { o.Status = wire.StatusRefused }), check.RuleOutcome},
		"success nobody spoke of":       {file(true).submits(5, reserved(1, "k"), nil).closed(func(o *wire.SubmitOutcome) { o.Status = wire.StatusSucceeded }), check.RuleOutcome},
		"a generation that is not told": {file(false).submits(5, reserved(1, ""), cutBefore).says(8, resubmit).submits(9, reserved(2, ""), nil).awaits("j", "s").ends("j", nil), check.RuleCounters},
		"counter too low":               {accepted().ends("j", func(o *wire.SubmitOutcome) { o.SubmitRequestsUsed = 0 }), check.RuleCounters},
		"request that nobody reserved":  {accepted().posted(12).ends("j", nil), check.RuleReservation},
		"while a person is asked":       {file(true).submits(5, reserved(1, "k"), cutBefore).asks(6).submits(9, reserved(1, "k"), nil).awaits("j", "s").ends("j", nil), check.RuleEscalated},
		"above the budget": {file(true).submits(5, reserved(1, "k"), notYet).submits(9, reserved(1, "k"), notYet).submits(13, reserved(1, "k"), notYet).
			submits(17, reserved(1, "k"), notYet).submits(21, reserved(1, "k"), nil).awaits("j", "s").ends("j", nil), check.RuleBudget},
		"after the deadline":     {file(true).submits(61, reserved(1, "k"), nil).awaits("j", "s").ends("j", nil), check.RuleDeadline},
		"before Retry-After":     {file(true).submits(5, reserved(1, "k"), func(r *check.Request) { notYet(r); r.RetryAfter = []string{"9"} }).submits(9, reserved(1, "k"), nil).awaits("j", "s").ends("j", nil), check.RuleRetryAfter},
		"neither ended nor asks": {file(true).submits(5, reserved(1, "k"), nil), check.RuleLost},
	} {
		var rules []string
		for _, violation := range c.story.check() {
			rules = append(rules, violation.Rule)
		}
		require.Contains(t, slices.Compact(rules), c.want, name)
	}
}

// unawaited ends as if the job was waited for.
func (f *filed) unawaited(job string) *filed {
	f.submission.Waits[job] = check.Wait{}
	f.fields.Status, f.fields.ProviderJobID, f.fields.WaitWorkflowID = wire.StatusUnresolved, job, "jobwait/demo-export/a/"+job
	return f.closed(nil)
}

// posted is a request that no activity has sent.
func (f *filed) posted(seconds float64) *filed {
	f.received(seconds, func(r *check.Request) { r.Kind, r.IdempotencyKey = "submit", "k" })
	return f
}

func (f *filed) asks(seconds float64) *filed {
	f.escalates(seconds)
	return f
}
