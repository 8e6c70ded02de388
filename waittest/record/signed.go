package main

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"go.temporal.io/sdk/client"

	"github.com/jobwait/jobwait/internal/bed"
	"github.com/jobwait/jobwait/internal/devserver"
	"github.com/jobwait/jobwait/signing"
	"github.com/jobwait/jobwait/waittest"
	"github.com/jobwait/jobwait/wire"
)

// rotating are decision keys of which the last ones change while the waits run.
type rotating struct {
	mu    sync.Mutex
	fixed signing.PrivateKey
	last  signing.PrivateKey
}

// DecisionKeys implements activities.DecisionKeySource.
func (r *rotating) DecisionKeys(context.Context) ([]wire.DecisionKey, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return []wire.DecisionKey{r.fixed.Public(), r.last.Public()}, nil
}

func (r *rotating) rotate(to signing.PrivateKey) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.last = to
}

// signed are waits of signed decisions: what is not signed comes by every way and is refused, and a key is replaced between
// two questions.
func signed() group {
	service, first, second := newKey("inbox-1", wire.AnyIdentity), newKey("ana-1", "ana@example.com"), newKey("ana-2", "ana@example.com")
	keys := &rotating{fixed: service, last: first}
	return group{
		server: devserver.Options{SearchAttributes: true, FastTimers: true}, keys: keys,
		waits: []wait{
			{
				name: "signed_unsigned_refused", script: waittest.Script(waittest.State("paused"), done),
				people: func(ctx context.Context, b *bed.Bed, run client.WorkflowRun) error {
					return unsignedFirst(ctx, b, run, service)
				},
			},
			{
				name: "signed_cancel_while_polling", script: waittest.Script(waittest.State("running")),
				people: func(ctx context.Context, b *bed.Bed, run client.WorkflowRun) error {
					return cancelSigned(ctx, b, run, service)
				},
			},
			{
				name: "signed_keys_rotated", script: waittest.Script(waittest.State("paused").Times(2), done),
				spec: func(spec *wire.Spec) { spec.Escalation.MaxExtensions = new(2) },
				people: func(ctx context.Context, b *bed.Bed, run client.WorkflowRun) error {
					return rotated(ctx, b, run, keys, first, second)
				},
			},
		},
	}
}

func newKey(id, by string) signing.PrivateKey {
	key, err := signing.New(id, by)
	if err != nil {
		panic(err) // id and identity are constants of this file
	}
	return key
}

func unsignedFirst(ctx context.Context, b *bed.Bed, run client.WorkflowRun, key signing.PrivateKey) error {
	open, err := b.Escalated(ctx, run)
	if err != nil {
		return err
	}
	plain := decision(open.ID, extend(4))
	for _, name := range []string{wire.SignalDecide, wire.SignalExtend, wire.SignalCancel} {
		if err := b.Client.SignalWorkflow(ctx, run.GetID(), "", name, plain); err != nil {
			return err
		}
	}
	for range 20 { // more than stand singly in the audit
		if _, err := b.Decide(ctx, run.GetID(), plain); err == nil {
			return errors.New("a decision without a signature was accepted")
		}
	}
	return decideSigned(ctx, b, run, key, plain)
}

func decideSigned(ctx context.Context, b *bed.Bed, run client.WorkflowRun, key signing.PrivateKey, d wire.Decision) error {
	d, err := key.Sign(d)
	if err != nil {
		return err
	}
	_, err = b.Decide(ctx, run.GetID(), d)
	return err
}

func cancelSigned(ctx context.Context, b *bed.Bed, run client.WorkflowRun, key signing.PrivateKey) error {
	view, err := b.Until(ctx, run, func(view wire.OperationView) bool { return view.LastObservation != nil })
	if err != nil {
		return err
	}
	return decideSigned(ctx, b, run, key, decision(view.Signing.WaitID, kind(wire.DecisionCancel)))
}

func rotated(ctx context.Context, b *bed.Bed, run client.WorkflowRun, keys *rotating, first, second signing.PrivateKey) error {
	open, err := b.Escalated(ctx, run)
	if err != nil {
		return err
	}
	keys.rotate(second)
	if err := decideSigned(ctx, b, run, first, decision(open.ID, extend(4))); err != nil {
		return fmt.Errorf("the key that was recorded: %w", err)
	}
	again, err := b.Until(ctx, run, func(view wire.OperationView) bool {
		return view.Escalation != nil && view.Escalation.ID != open.ID
	})
	if err != nil {
		return err
	}
	d := decision(again.Escalation.ID, extend(4))
	if err := decideSigned(ctx, b, run, first, d); err == nil {
		return errors.New("a key that was removed was accepted")
	}
	return decideSigned(ctx, b, run, second, d)
}
