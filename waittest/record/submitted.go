package main

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"go.temporal.io/sdk/client"

	"github.com/jobwait/jobwait/internal/bed"
	"github.com/jobwait/jobwait/internal/devserver"
	"github.com/jobwait/jobwait/statetables"
	"github.com/jobwait/jobwait/waittest"
	"github.com/jobwait/jobwait/wire"
)

// submitted is a group of one submission: the provider counts submissions, whoever they are of.
func submitted(name, provider string, taken waittest.SubmitScript, people func(context.Context, *bed.Bed, client.WorkflowRun) error, change func(*wire.SubmitSpec)) group {
	return group{
		server: devserver.Options{SearchAttributes: true, FastTimers: true},
		plain:  true,
		waits: []wait{{
			name: name, script: waittest.Script(waittest.State("running")), people: people,
			before: func(_ context.Context, b *bed.Bed) error { return b.Provider.TakeSubmissions(taken) },
			submit: func(b *bed.Bed) wire.SubmitSpec {
				spec := submission(b, name, provider)
				if change != nil {
					change(&spec)
				}
				return spec
			},
		}},
	}
}

func submission(b *bed.Bed, name, provider string) wire.SubmitSpec {
	_, port, _ := strings.Cut(b.Provider.Address(), ":")
	waited := b.Spec(name)
	return wire.SubmitSpec{
		SubmissionID: name, Provider: provider, Account: waited.Account, Params: map[string]string{"port": port}, CredentialRef: "demo",
		Body: []byte(`{"report":"2026-11"}`),
		Wait: wire.SubmitWait{
			DeadlineAt: waited.DeadlineAt, MaxStatusRequests: waited.MaxStatusRequests, MaxTransportFailures: waited.MaxTransportFailures,
			Schedule: waited.Schedule,
		},
	}
}

// writePlain writes the demonstration's table for a provider that knows no idempotency key, under the name demo-plain.
func writePlain(dir string) error {
	text, err := fs.ReadFile(statetables.Demo(), "demo-export.yaml")
	if err != nil {
		return err
	}
	changed := strings.NewReplacer("provider: demo-export", "provider: demo-plain",
		"  idempotency: header\n  name: Idempotency-Key\n  max_length: 128\n", "  idempotency: none\n").Replace(string(text))
	return os.WriteFile(filepath.Join(dir, "demo-plain.yaml"), []byte(changed), 0o600)
}

func finishes() waittest.JobScript {
	return waittest.Script(waittest.State("running"), waittest.Succeeded("https://files.example.com/report.csv"))
}

func submittedOnce() group {
	return submitted("submitted", "demo-export", waittest.SubmitScript{Job: finishes()}, nil, nil)
}

func submittedAgain() group {
	return submitted("submitted_with_its_key_again", "demo-export", waittest.SubmitScript{
		Job: finishes(), Steps: []waittest.SubmitStep{{Answer: waittest.Hangup()}, {}},
	}, nil, nil)
}

func attached() group {
	return submitted("submission_attached", "demo-plain", waittest.SubmitScript{
		Job: finishes(), NoKeys: true, Steps: []waittest.SubmitStep{{Answer: waittest.Hangup()}, {}},
	}, func(ctx context.Context, b *bed.Bed, run client.WorkflowRun) error {
		open, err := b.Escalated(ctx, run)
		if err != nil {
			return err
		}
		made := b.Provider.Submissions()[0].JobID
		_, err = b.Decide(ctx, run.GetID(), decision(open.ID, func(d *wire.Decision) {
			d.Kind, d.ProviderJobID, d.StatusURL = wire.DecisionAttach, made, b.Provider.StatusURL(made)
		}))
		return err
	}, nil)
}

func resubmitted() group {
	return submitted("submission_resubmitted", "demo-export", waittest.SubmitScript{
		Job: waittest.Script(waittest.Failed("E_ROWS", "too many rows")),
	}, decide(kind(wire.DecisionResubmit)), func(spec *wire.SubmitSpec) {
		spec.OfferResubmit = true
		spec.Wait.Escalation.DecisionWindowSeconds = new(60)
		spec.Wait.DeadlineAt = time.Now().Add(10 * time.Minute)
	})
}
