package main

import (
	"context"
	"time"

	"go.temporal.io/sdk/client"

	"github.com/jobwait/jobwait/activities"
	"github.com/jobwait/jobwait/internal/bed"
	"github.com/jobwait/jobwait/waittest"
	"github.com/jobwait/jobwait/wire"
)

// ruled is a good credential whose use people approve by a rule.
func ruled(b *bed.Bed, rule wire.ApprovalRule) activities.Credential {
	credential := b.Credential("1", bed.Key)
	credential.Approval = rule
	return credential
}

// approvals are waits with credentials whose use people approve.
func approvals() []wait {
	with := func(ref string) func(*wire.Spec) { return func(spec *wire.Spec) { spec.CredentialRef = ref } }
	approve, grant := kind(wire.DecisionApproveRequest), extend(4)
	return []wait{
		{
			name: "approval_per_request", script: waittest.Script(waittest.State("running"), done), spec: with("each"),
			people: oneAfterTheOther(approve, approve),
		},
		{
			name: "approval_after_the_deadline", script: waittest.Script(waittest.State("running"), done),
			spec: func(spec *wire.Spec) {
				spec.CredentialRef, spec.DeadlineAt = "once", time.Now().Add(6*time.Second)
			},
			people: func(ctx context.Context, b *bed.Bed, run client.WorkflowRun) error {
				if _, err := b.Escalated(ctx, run); err != nil {
					return err
				}
				select {
				case <-time.After(8 * time.Second):
				case <-ctx.Done():
					return ctx.Err()
				}
				return oneAfterTheOther(approve, grant)(ctx, b, run)
			},
		},
		{
			name: "approval_of_another_credential", script: waittest.Script(done), spec: with("wrong"),
			people: oneAfterTheOther(func(d *wire.Decision) { d.Kind, d.CredentialRef = wire.DecisionUseCredential, "each" }, approve),
		},
	}
}

// oneAfterTheOther answers one question after the other by updates.
func oneAfterTheOther(answers ...func(*wire.Decision)) func(context.Context, *bed.Bed, client.WorkflowRun) error {
	return func(ctx context.Context, b *bed.Bed, run client.WorkflowRun) error {
		before := ""
		for _, fill := range answers {
			view, err := b.Until(ctx, run, func(view wire.OperationView) bool {
				return view.Escalation != nil && view.Escalation.ID != before
			})
			if err != nil {
				return err
			}
			before = view.Escalation.ID
			if _, err := b.Decide(ctx, run.GetID(), decision(before, fill)); err != nil {
				return err
			}
		}
		return nil
	}
}
