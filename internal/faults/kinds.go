package faults

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"time"

	"github.com/jobwait/jobwait/waittest"
	"github.com/jobwait/jobwait/wire"
)

// kind is a scenario of a job.
type kind struct {
	name string
	draw func(*rand.Rand, *Wait)
	// shares makes the waits of this kind use the same credential, so that a worker holds all of them back for what the provider asks
	// of one. The others have one each, because their provider asks for longer than a run can spare.
	shares bool
}

// resultURL returns the URL of the only result that a job can have.
func resultURL(job string) string { return "https://files.example.com/" + job + ".csv" }

// unknownState is a state that the provider's table does not list.
const unknownState = "archiving"

func running(r *rand.Rand, most int) waittest.Step {
	return waittest.State("running").Times(1 + r.IntN(most))
}

// script makes a job run for a while, then do what middle says, then run again and succeed.
func script(r *rand.Rand, w *Wait, middle ...waittest.Step) {
	steps := append([]waittest.Step{waittest.State("queued"), running(r, w.polls)}, middle...)
	w.Script = waittest.Script(append(steps, running(r, w.polls), waittest.Succeeded(resultURL(w.Job)))...)
}

func seconds(r *rand.Rand, least, most int) string { return strconv.Itoa(least + r.IntN(most-least+1)) }

// kinds are the scenarios of jobs, which a run uses in turn.
var kinds = []kind{ //nolint:gochecknoglobals // a table
	{shares: true, name: "plain", draw: func(r *rand.Rand, w *Wait) { script(r, w) }},
	{shares: true, name: "retry-after", draw: func(r *rand.Rand, w *Wait) {
		w.Script = waittest.Script(
			waittest.State("queued").RetryAfter(seconds(r, 3, 6)), waittest.Status(503).RetryAfter(seconds(r, 4, 8)),
			waittest.Status(429).RetryAfter(seconds(r, 4, 9)+".5"), running(r, w.polls), waittest.Succeeded(resultURL(w.Job)))
		for at := 2 * time.Second; at < min(w.Life, 30*time.Second); at += 2 * time.Second {
			w.Nudges = append(w.Nudges, at) // while the wait may not ask
		}
	}},
	{shares: true, name: "hints", draw: func(r *rand.Rand, w *Wait) {
		script(r, w, waittest.State("running").PollAfter(0).Times(2), waittest.State("processing").PollAfter(float64(1+r.IntN(6))).Times(2))
	}},
	{name: "unknown", draw: func(r *rand.Rand, w *Wait) { script(r, w, waittest.State(unknownState).Times(1+r.IntN(3))) }},
	{shares: true, name: "slow", draw: func(r *rand.Rand, w *Wait) {
		script(r, w, waittest.State("running").Delay(2500*time.Millisecond).Times(3), waittest.State("running").Held())
		w.Spec.Schedule.RequestTimeoutSeconds = new(4)
	}},
	{shares: true, name: "cancelled", draw: func(r *rand.Rand, w *Wait) {
		w.Script = waittest.Script(waittest.State("running"))
		w.Cancel = between(r, 3*time.Second, w.Life/2)
	}},
	{name: "budget", draw: func(r *rand.Rand, w *Wait) {
		w.Script = waittest.Script(waittest.State("running").Times(6), waittest.Succeeded(resultURL(w.Job)))
		w.Spec.MaxStatusRequests = 3 + r.IntN(3)
	}},
	{shares: true, name: "deadline", draw: func(r *rand.Rand, w *Wait) {
		w.Script = waittest.Script(waittest.State("running"))
		w.Life = between(r, 12*time.Second, 40*time.Second)
	}},
	{name: "broken", draw: func(r *rand.Rand, w *Wait) {
		script(r, w, waittest.CutOff("running"), waittest.ResetConnection(), waittest.Hangup(), waittest.Status(502), waittest.CutOff("running").RetryAfter("4"))
	}},
	// Long enough for a worker to be killed meanwhile.
	{shares: true, name: "hanging", draw: func(r *rand.Rand, w *Wait) {
		script(r, w, waittest.State("running").Held().Times(2+r.IntN(3)))
		w.Spec.Schedule.RequestTimeoutSeconds = new(6)
	}},
	{name: "no-result", draw: func(r *rand.Rand, w *Wait) {
		w.Script = waittest.Script(running(r, w.polls), waittest.State("succeeded").Times(1+r.IntN(2)), waittest.Succeeded(resultURL(w.Job)))
	}},
	{name: "partial", draw: func(r *rand.Rand, w *Wait) {
		w.Script = waittest.Script(running(r, w.polls), waittest.Step{State: "partially_succeeded", ResultURL: resultURL(w.Job)})
		w.Spec.AcceptPartial = r.IntN(2) == 0
	}},
	{name: "failed", draw: func(r *rand.Rand, w *Wait) {
		w.Script = waittest.Script(running(r, w.polls), waittest.Failed("E_ROWS", "too many rows"))
	}},
	{name: "expired", draw: func(r *rand.Rand, w *Wait) {
		w.Script = waittest.Script(running(r, w.polls), waittest.State("expired"))
	}},
	{name: "cancel-refused", draw: func(r *rand.Rand, w *Wait) {
		script(r, w, waittest.State("running").Times(5))
		w.Script = w.Script.OnCancel(waittest.Status([]int{404, 409, 503}[r.IntN(3)]).RetryAfter("3"))
		w.Cancel = between(r, 3*time.Second, w.Life/2)
	}},
	{name: "cancel-hangs", draw: func(r *rand.Rand, w *Wait) {
		w.Script = waittest.Script(waittest.State("running")).OnCancel(waittest.State("cancelling").Held(), waittest.State("cancelling"), waittest.State("cancelled"))
		w.Cancel = between(r, 3*time.Second, w.Life/2)
	}},
	{name: "stopped", draw: func(r *rand.Rand, w *Wait) {
		w.Script = waittest.Script(waittest.State("running"))
		w.Stop = between(r, 3*time.Second, w.Life)
	}},
	{name: "rate-limited", draw: func(r *rand.Rand, w *Wait) {
		script(r, w, waittest.Status(429).Times(3+r.IntN(4)))
		w.Spec.MaxRateLimited = new(3)
	}},
	{name: "failing", draw: func(r *rand.Rand, w *Wait) {
		script(r, w, waittest.Status(500).Times(3+r.IntN(5)))
		w.Spec.MaxTransportFailures = 3
	}},
	{name: "needs-input", draw: func(r *rand.Rand, w *Wait) { script(r, w, waittest.State("awaiting_review").Times(1+r.IntN(2))) }},
	{name: "sign-in-page", draw: func(r *rand.Rand, w *Wait) {
		script(r, w, waittest.Raw("text/html", "<html>sign in</html>"), waittest.Redirect("/login")) // where the provider would notice whoever follows it
	}},
	{name: "asks-nobody", draw: func(r *rand.Rand, w *Wait) {
		script(r, w, waittest.State(unknownState))
		w.Spec.Escalation.EscalateOn = []wire.Reason{}
	}},
	{name: "denied", draw: func(r *rand.Rand, w *Wait) {
		script(r, w, waittest.Status(401))
		w.Answers = otherAtLast
	}},
	{name: "too-long", draw: func(r *rand.Rand, w *Wait) { script(r, w, waittest.Status(503).RetryAfter("900")) }},
	{name: "approved", draw: func(r *rand.Rand, w *Wait) {
		w.Script = waittest.Script(waittest.State("running").Times(1+r.IntN(3)), waittest.Succeeded(resultURL(w.Job)))
		w.Approval = []wire.ApprovalRule{wire.ApprovalPerOperation, wire.ApprovalPerRequest}[r.IntN(2)]
		w.Answers = []Answer{{Kind: wire.DecisionApproveRequest, Twice: r.IntN(2) == 0}}
	}},
}

// submitKinds are the scenarios of submissions, which a run uses in turn. Every third is at a provider without idempotency keys,
// where the first few leave people in doubt whether there is a job.
var submitKinds = []kind{ //nolint:gochecknoglobals // a table
	{shares: true, name: "submitted", draw: func(r *rand.Rand, w *Wait) { script(r, w) }},
	{name: "answer-lost", draw: submitting(waittest.SubmitStep{Answer: waittest.Hangup()})},
	{name: "cut-before", draw: submitting(waittest.SubmitStep{NoJob: true, Answer: waittest.ResetConnection()})},
	{shares: true, name: "not-yet", draw: func(r *rand.Rand, w *Wait) {
		later := waittest.SubmitStep{NoJob: true, Answer: waittest.Status(429).RetryAfter(seconds(r, 3, 6))}
		submitting(later, later)(r, w)
	}},
	{shares: true, name: "submit-hangs", draw: func(r *rand.Rand, w *Wait) {
		submitting(waittest.SubmitStep{Answer: waittest.Step{Hold: true}})(r, w)
		w.Spec.Schedule.RequestTimeoutSeconds = new(6)
	}},
	{name: "job-fails", draw: func(r *rand.Rand, w *Wait) {
		w.Script = waittest.Script(running(r, w.polls), waittest.Failed("E_ROWS", "too many rows"))
		w.Submit.OfferResubmit = true
		w.Answers = []Answer{{Kind: wire.DecisionResubmit}, {Kind: wire.DecisionClose}}
	}},
	{name: "refused", draw: func(r *rand.Rand, w *Wait) {
		submitting()(r, w)
		w.Submit.Steps = []waittest.SubmitStep{{NoJob: true, Answer: waittest.Status(422)}}
	}},
	{name: "no-job-id", draw: submitting(waittest.SubmitStep{Answer: waittest.Step{Omit: []string{"job_id"}}})},
	{name: "done-at-once", draw: func(r *rand.Rand, w *Wait) {
		submitting(waittest.SubmitStep{Answer: waittest.Step{Status: 201, State: "succeeded", ResultURL: resultURL(w.Job)}})(r, w)
	}},
	{name: "submit-denied", draw: func(r *rand.Rand, w *Wait) {
		submitting(waittest.SubmitStep{NoJob: true, Answer: waittest.Status(401)})(r, w)
		w.Answers = otherAtLast
	}},
	{name: "submit-broken", draw: submitting(
		waittest.SubmitStep{NoJob: true, Answer: waittest.Status(503)}, waittest.SubmitStep{Answer: waittest.Status(500)},
		waittest.SubmitStep{Answer: waittest.Step{Do: waittest.DoCut}},
	)},
	{name: "submit-stopped", draw: func(r *rand.Rand, w *Wait) {
		submitting(waittest.SubmitStep{Answer: waittest.Hangup()})(r, w)
		w.Stop = between(r, time.Second, w.Life)
	}},
}

// otherAtLast are the answers of somebody who tries a refused credential once more, and then another one.
var otherAtLast = []Answer{ //nolint:gochecknoglobals // a constant in all but the language
	{Kind: wire.DecisionUseCredential, Same: true}, {Kind: wire.DecisionUseCredential}, {Kind: wire.DecisionClose},
}

// submitting makes steps happen to the first submit requests of a job, which then runs and succeeds.
func submitting(steps ...waittest.SubmitStep) func(*rand.Rand, *Wait) {
	return func(r *rand.Rand, w *Wait) {
		script(r, w)
		w.Submit.Steps = append(slices.Clone(steps), waittest.SubmitStep{})
	}
}
