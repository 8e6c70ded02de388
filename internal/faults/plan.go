package faults

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/jobwait/jobwait/internal/bed"
	"github.com/jobwait/jobwait/internal/devserver"
	"github.com/jobwait/jobwait/waittest"
	"github.com/jobwait/jobwait/wire"
)

// Options configure a run. Waits, For, Workers and Dir are required.
type Options struct {
	// Seed is the seed for drawing the waits, their answers, the people and the faults.
	Seed uint64
	// Waits is the number of jobs that are waited for.
	Waits int
	// For is how long faults happen, at least 10 seconds; starting, settling and checking take additional time.
	For time.Duration
	// Workers is the number of worker processes, not counting the one for waits whose decisions must be signed.
	Workers int
	// Settle bounds how long the last waits may take to end once nothing fails any more. 0 means 3 minutes.
	Settle time.Duration
	// Dir receives logs and the server's state.
	Dir string
	// Temporal is the server's executable. If empty, one is found or built.
	Temporal devserver.Executable
	// Cluster is what Temporal runs on: empty for the development server, ClusterPostgres for a server on PostgreSQL, whose database
	// then fails as well.
	Cluster string
	// OldRevision is the revision of the repository from which the old workers are built; they are upgraded in the middle of the run.
	// Empty means that old and new workers have the same code.
	OldRevision string
	// Overlay is the list of BuildNext with which the new workers are built; the others are upgraded to them in the middle of the run.
	// Empty means that they have the present code.
	Overlay string
	// ClockSteps builds the new workers so that their wall clock jumps every few seconds, by up to an hour either way.
	ClockSteps bool
	// Calm omits the faults of processes; those of the provider's answers remain.
	Calm bool
	// EventsPerRun is the number of events after which the server suggests to continue as new. 0 means 120, about ten polls.
	EventsPerRun int
	// SkipReplay omits the strict replay of every history.
	SkipReplay bool
}

// Validate returns an error for the first option that cannot be used.
func (o Options) Validate() error {
	switch {
	case o.Waits < 1:
		return fmt.Errorf("faults: %d waits, at least 1 is needed", o.Waits)
	case o.For < 10*time.Second:
		return fmt.Errorf("faults: for %s, at least 10s are needed", o.For)
	case o.Workers < 1:
		return fmt.Errorf("faults: %d workers, at least 1 is needed", o.Workers)
	case o.Settle < 0:
		return fmt.Errorf("faults: settle %s is negative", o.Settle)
	case o.Cluster != "" && o.Cluster != ClusterPostgres:
		return fmt.Errorf("faults: cluster %q is neither empty nor %q", o.Cluster, ClusterPostgres)
	case o.Dir == "":
		return errors.New("faults: no directory for logs and the server's state")
	}
	return nil
}

// signedPlace is the place of the worker that accepts only signed decisions; the others have the places before it.
func (o Options) signedPlace() int { return o.Workers }

func (o Options) places() int { return o.Workers + 1 }

// Upgrades reports whether the old workers have other code than the new ones.
func (o Options) Upgrades() bool { return o.OldRevision != "" || o.Overlay != "" }

// Plan is everything about a run that is drawn at random. It is drawn before the run starts: the same seed and options give the
// same plan.
type Plan struct {
	Waits  []Wait
	Faults []Fault
}

// Wait is one planned wait.
type Wait struct {
	Job, Kind string
	// Start is when the wait starts, from the start of the run. Life is the time from then to its deadline.
	Start, Life time.Duration
	Script      waittest.JobScript
	// Spec is the spec without what is known only during the run: times and the status URL.
	Spec wire.Spec
	// Submit is how the job is submitted; nil if it exists from the beginning.
	Submit *Submit
	// Signed assigns the wait to the worker that requires signed decisions.
	Signed bool
	// Approval says when a person has to approve the wait's credential; empty means never.
	Approval wire.ApprovalRule
	// Answers are a person's answers to the escalations, in order; the last one repeats. An answer that is not offered becomes close.
	Answers []Answer
	// Cancel is when somebody cancels the job, Stop when somebody stops the waiting, and Rival when a second caller tries to start the
	// same wait or submission. Propose is when a program asks for more; Granted says whether a person then grants it. Nudges are when
	// somebody says that the job may have changed. All count from the start of the wait; 0 means never.
	Cancel, Stop, Rival, Propose time.Duration
	Granted                      bool
	Nudges                       []time.Duration

	polls int // about how often a job is running before something happens
}

// Submit is a submission that leads to a wait.
type Submit struct {
	// Steps are what happens to its requests at the provider.
	Steps []waittest.SubmitStep
	// MaxRequests and OfferResubmit are as in wire.SubmitSpec.
	MaxRequests   int
	OfferResubmit bool
	// Owned makes somebody else wait for the job before a person attaches it.
	Owned bool
}

// Answer is a person's answer to an escalation.
type Answer struct {
	Kind wire.DecisionKind // empty means no answer, so that the window lapses
	// BySignal sends the decision as a signal and not as an update. Twice sends it twice. Same names the credential that was refused.
	BySignal, Twice, Same bool
}

// account is the account of all jobs.
const account = "acct-faults"

// The credentials that several waits use, from the beginning or by a person's decision.
const (
	sharedCredential = "demo"
	otherCredential  = "other"
)

// NewPlan draws the plan of a run.
func NewPlan(options Options) Plan {
	// Two streams, so that the number of waits does not change the faults.
	waits := rand.New(rand.NewPCG(options.Seed, 1))  //nolint:gosec // chance that can be repeated is the point
	faults := rand.New(rand.NewPCG(options.Seed, 2)) //nolint:gosec // as above
	plan := Plan{}
	for n := range options.Waits {
		plan.Waits = append(plan.Waits, drawWait(waits, n, options.For))
	}
	if !options.Calm {
		plan.Faults = drawFaults(faults, options)
	}
	return plan
}

// One of this many waits begins with a submission.
const submitted = 4

// drawWait uses the kinds in turn, so that even a small run has all of them.
func drawWait(r *rand.Rand, n int, length time.Duration) Wait {
	w := Wait{
		Job: fmt.Sprintf("job-%04d", n+1), polls: 4 + int(length/(5*time.Minute)),
		Start: time.Duration(r.Float64() * 0.6 * float64(length)),
		Life:  between(r, min(25*time.Second, length*3/4), min(length*3/10+10*time.Second, 5*time.Minute)),
	}
	w.Spec = drawSpec(r, w.Job, length)
	kind := kinds[(n-(n+1)/submitted)%len(kinds)]
	if n%submitted == submitted-1 {
		kind = w.drawSubmit(r, n/submitted)
	} else {
		w.drawPeople(r)
	}
	w.Kind = kind.name
	if !kind.shares {
		w.Spec.CredentialRef = sharedCredential + "-" + w.Job
	}
	kind.draw(r, &w)
	w.Signed = r.IntN(4) == 0
	if r.IntN(10) == 0 {
		w.Rival = between(r, time.Second, w.Life)
	}
	return w
}

// drawSubmit draws a submission. Providers take turns as well, so that each gets every kind.
func (w *Wait) drawSubmit(r *rand.Rand, n int) kind {
	w.Spec.Provider = []string{"demo-export", bed.ProviderPlain, bed.ProviderNamed}[(n+n/len(submitKinds))%3]
	w.Submit = &Submit{MaxRequests: 3 + r.IntN(6), Owned: r.IntN(4) == 0}
	w.Life = max(w.Life/3, min(w.Life, 20*time.Second)) // resubmitting or attaching a job gives it as much time again
	for range 3 {
		kind := []wire.DecisionKind{
			wire.DecisionAttach, wire.DecisionAttach, wire.DecisionAttach, wire.DecisionResubmit, wire.DecisionExtend, wire.DecisionClose, "",
		}[r.IntN(7)]
		w.Answers = append(w.Answers, Answer{Kind: kind, BySignal: r.IntN(3) == 0, Twice: r.IntN(5) == 0})
	}
	return submitKinds[n%len(submitKinds)]
}

// drawPeople draws what people do to a wait: answers, nudges and proposals.
func (w *Wait) drawPeople(r *rand.Rand) {
	for range 3 {
		w.Answers = append(w.Answers, drawAnswer(r))
	}
	if r.IntN(3) == 0 {
		for range 1 + r.IntN(4) {
			w.Nudges = append(w.Nudges, between(r, time.Second, w.Life))
		}
	}
	if r.IntN(5) == 0 {
		w.Propose, w.Granted = between(r, time.Second, w.Life/2), r.IntN(2) == 0
	}
}

// drawSpec draws a patient spec, or for a short run one with short delays.
func drawSpec(r *rand.Rand, job string, length time.Duration) wire.Spec {
	base := 1 + r.IntN(3)
	spec := wire.Spec{
		OperationID: "op-" + job, Provider: "demo-export", Account: account, ProviderJobID: job, CredentialRef: sharedCredential,
		MaxStatusRequests: 12 + r.IntN(20), MaxTransportFailures: 6 + r.IntN(6),
		Schedule: wire.Schedule{
			BaseDelaySeconds: &base, MaxDelaySeconds: new(base * (2 + r.IntN(8))), MinDelaySeconds: new(1 + r.IntN(2)),
			RequestTimeoutSeconds: new(requestTimeoutSeconds),
		},
		Escalation: wire.EscalationSettings{
			DecisionWindowSeconds: new(60), ReminderSeconds: new(0), MaxExtensions: new(1 + r.IntN(3)),
		},
	}
	if length < time.Minute {
		spec.Schedule.BaseDelaySeconds, spec.Schedule.MaxDelaySeconds = new(1), new(3)
	}
	return spec
}

// requestTimeoutSeconds is short, so that a request to a provider that hangs ends soon.
const requestTimeoutSeconds = 2

// drawAnswer mostly draws answers that continue the wait. People also let a window lapse, answer twice and use signals.
func drawAnswer(r *rand.Rand) Answer {
	kind := []wire.DecisionKind{
		wire.DecisionExtend, wire.DecisionExtend, wire.DecisionExtend, wire.DecisionTreatAsPending, wire.DecisionAcceptResult,
		wire.DecisionCancel, wire.DecisionClose, "",
	}[r.IntN(8)]
	return Answer{Kind: kind, BySignal: r.IntN(3) == 0, Twice: r.IntN(5) == 0}
}

func between(r *rand.Rand, least, most time.Duration) time.Duration {
	if most <= least {
		return least
	}
	return least + time.Duration(r.Int64N(int64(most-least)))
}
