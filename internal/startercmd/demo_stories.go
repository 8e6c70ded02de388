package startercmd

import (
	"github.com/jobwait/jobwait/waittest"
	"github.com/jobwait/jobwait/wire"
)

// tale is one wait of the demonstration.
type tale struct {
	label, about string
	spec         wire.Spec
	script       waittest.JobScript
	// answer is what the simulated person decides, why its reason.
	answer wire.Decision
	want   wire.OutcomeStatus

	outcome wire.Outcome
}

func demoStories() []*tale {
	return []*tale{
		{
			label: "busy", about: "the provider answers 503 with Retry-After, then the export succeeds",
			spec: demoSpec("busy", 8),
			script: waittest.Script(waittest.State("queued"), waittest.Status(503).RetryAfter("3"),
				waittest.State("running"), waittest.Succeeded("https://files.example.com/busy.csv")),
			want: wire.StatusSucceeded,
		},
		{
			label: "odd", about: "the job enters a state that nobody listed, and a person is asked",
			spec: demoSpec("odd", 8),
			script: waittest.Script(waittest.State("running"), waittest.State("archiving").Times(2),
				waittest.Succeeded("https://files.example.com/odd.csv")),
			answer: wire.Decision{
				Kind: wire.DecisionTreatAsPending, Seconds: 120, StatusRequests: 4,
				Comment: "archiving is the last step of an export",
			},
			want: wire.StatusSucceeded,
		},
		{
			label: "slow", about: "the job uses up its 3 checks, and a person allows 4 more, once",
			spec:   demoSpec("slow", 3),
			script: waittest.Script(waittest.State("running").Times(5), waittest.Succeeded("https://files.example.com/slow.csv")),
			answer: wire.Decision{Kind: wire.DecisionExtend, Seconds: 120, StatusRequests: 4, Comment: "a large table today"},
			want:   wire.StatusSucceeded,
		},
		{
			label: "broken", about: "the provider reports that the job failed",
			spec: demoSpec("broken", 8),
			script: waittest.Script(waittest.State("queued"), waittest.State("running"),
				waittest.Failed("source_gone", "the table to export was dropped")),
			want: wire.StatusFailed,
		},
	}
}

// reviewStory stays open for whoever looks around.
func reviewStory() *tale {
	return &tale{
		label: "review", spec: demoSpec("review", 8),
		script: waittest.Script(waittest.State("running"), waittest.State("awaiting_review"), waittest.State("running"),
			waittest.Succeeded("https://files.example.com/review.csv")),
	}
}

// demoSubmissions are for whoever looks around: each makes an export that succeeds at the third look.
func demoSubmissions() *waittest.SubmitScript {
	return &waittest.SubmitScript{Job: waittest.Script(waittest.State("queued"), waittest.State("running"),
		waittest.Succeeded("https://files.example.com/submitted.csv"))}
}

func demoSpec(name string, requests int) wire.Spec {
	return wire.Spec{
		OperationID: "demo-" + name, Provider: "demo-export", Account: "acct-42", ProviderJobID: "exp_" + name,
		CredentialRef: "demo", MaxStatusRequests: requests, MaxTransportFailures: 3,
		Schedule: wire.Schedule{BaseDelaySeconds: new(1), MaxDelaySeconds: new(1)},
	}
}
