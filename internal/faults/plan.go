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

// Options say how large a run is. Waits, For and Workers are required.
type Options struct {
	// Seed draws the waits, their answers, the people and the faults.
	Seed uint64
	// Waits is how many jobs are waited for.
	Waits int
	// For is how long faults happen; starting, settling and checking come on top.
	For time.Duration
	// Workers is how many worker processes there are, while none is down, beside the one that takes the waits whose decisions must
	// be signed.
	Workers int
	// Settle is how long the last waits may take to end once nothing fails any more. Default 3 minutes.
	Settle time.Duration
	// Dir keeps logs and the server's state. Required.
	Dir string
	// Temporal is the server's executable; empty: it is found, or built.
	Temporal devserver.Executable
	// Cluster is what Temporal runs on: empty for the development server, ClusterPostgres for a server on PostgreSQL, whose database
	// is broken as well.
	Cluster string
	// OldRevision is the revision of the repository that the old workers are built from, to be upgraded in the middle of the run;
	// empty: old and new workers are of one code.
	OldRevision string
	// Overlay is the list of BuildNext that the new workers are built with, to be upgraded to in the middle of the run; empty: they
	// are of the code that is here.
	Overlay string
	// ClockSteps builds the new workers so that their wall clock jumps every few seconds, by up to an hour either way.
	ClockSteps bool
	// Calm leaves the faults of processes out; those of the provider's answers stay.
	Calm bool
	// EventsPerRun is after how many events the server suggests to continue as new; default 120, some ten polls.
	EventsPerRun int
	// SkipReplay leaves the strict replay of every history out.
	SkipReplay bool
}

// Validate reports the first option that cannot be used.
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

// signedPlace is the place of the worker that takes signed decisions only; the others come before it.
func (o Options) signedPlace() int { return o.Workers }

func (o Options) places() int { return o.Workers + 1 }

// Upgrades reports whether the old workers are of another code than the new ones.
func (o Options) Upgrades() bool { return o.OldRevision != "" || o.Overlay != "" }

// Plan is everything about a run that chance decides, drawn before it starts: the same seed and options give the same plan.
type Plan struct {
	Waits  []Wait
	Faults []Fault
}

// Wait is one planned wait.
type Wait struct {
	Job, Kind string
	// Start is when it starts, Life how long it gets until its deadline, both from the start of the run and of the wait.
	Start, Life time.Duration
	Script      waittest.JobScript
	// Spec lacks what only the run knows: times and the status URL.
	Spec wire.Spec
	// Submit is how the job is submitted first, and its wait begun by that; nil: the job is there.
	Submit *Submit
	// Signed has the wait taken by the worker that wants decisions signed.
	Signed bool
	// Approval is when a person has to approve the wait's credential; empty: never.
	Approval wire.ApprovalRule
	// Answers are what a person says to the escalations in turn; the last repeats. An answer that is not offered becomes close.
	Answers []Answer
	// Cancel and Stop are when somebody cancels the job or stops the waiting; Rival is when a second caller tries to start a
	// wait for the job, or to submit it; Propose is when a program asks for more, which is granted or refused; Nudges are when
	// somebody says that the job may have changed. All count from the start of the wait; 0: never.
	Cancel, Stop, Rival, Propose time.Duration
	Granted                      bool
	Nudges                       []time.Duration

	polls int // about how often a job says that it is running before something happens
}

// Submit is a submission of which a wait comes.
type Submit struct {
	// Steps are what happens to its requests at the provider.
	Steps []waittest.SubmitStep
	// MaxRequests is how many may be sent; OfferResubmit has people asked when the job has failed.
	MaxRequests   int
	OfferResubmit bool
	// Owned has somebody else wait for the job before a person attaches it.
	Owned bool
}

// Answer is what a person says to an escalation.
type Answer struct {
	Kind wire.DecisionKind // empty: nothing, the window lapses
	// BySignal sends it as a signal, else it is an update; Twice sends it again. Same names the credential that was turned down.
	BySignal, Twice, Same bool
}

// account is whose jobs they are.
const account = "acct-faults"

// The credentials that several waits have, from the beginning or by a person's word.
const (
	sharedCredential = "demo"
	otherCredential  = "other"
)

// NewPlan draws a plan.
func NewPlan(options Options) Plan {
	// Two streams, so that another number of waits leaves the faults as they are.
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

// submitted is of how many waits one begins with a submission.
const submitted = 4

// drawWait takes the kinds in turn, so that every kind is in a small run as well.
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

// drawSubmit has the providers take turns as well, each time with another kind.
func (w *Wait) drawSubmit(r *rand.Rand, n int) kind {
	w.Spec.Provider = []string{"demo-export", bed.ProviderPlain, bed.ProviderNamed}[(n+n/len(submitKinds))%3]
	w.Submit = &Submit{MaxRequests: 3 + r.IntN(6), Owned: r.IntN(4) == 0}
	w.Life = max(w.Life/3, min(w.Life, 20*time.Second)) // a person who submits it again, or attaches a job, gives as much once more
	for range 3 {
		kind := []wire.DecisionKind{
			wire.DecisionAttach, wire.DecisionAttach, wire.DecisionAttach, wire.DecisionResubmit, wire.DecisionExtend, wire.DecisionClose, "",
		}[r.IntN(7)]
		w.Answers = append(w.Answers, Answer{Kind: kind, BySignal: r.IntN(3) == 0, Twice: r.IntN(5) == 0})
	}
	return submitKinds[n%len(submitKinds)]
}

// drawPeople draws who answers a wait's questions, hurries it and asks for more.
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

// drawSpec draws a patient spec, and one that hurries for a run that is over soon.
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

// requestTimeoutSeconds is short, so that a request to a provider that hangs is over soon.
const requestTimeoutSeconds = 2

// drawAnswer mostly goes on once; people also let a window lapse, answer twice and use the plain signals.
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
