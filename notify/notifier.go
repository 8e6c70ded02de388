package notify

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"runtime/debug"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/jobwait/jobwait/activities"
	"github.com/jobwait/jobwait/operation"
	"github.com/jobwait/jobwait/wire"
)

// Notifier delivers notifications on its channels. It is safe for concurrent use.
type Notifier struct {
	options   Options
	receivers []receiver
}

var _ activities.ChannelNotifier = (*Notifier)(nil)

// receiver is one that is told: a channel, or one address of it.
type receiver struct {
	name    string
	channel Channel
	sender  sender
}

// sender makes one attempt. Its error is a *failure, or a fault of our own.
type sender interface {
	check(ctx context.Context) error
	send(ctx context.Context, m message) error
}

// New returns a Notifier. It validates the options and reads every secret once, so that a missing one is an error at the start.
func New(ctx context.Context, options Options) (*Notifier, error) {
	if err := options.Validate(); err != nil {
		return nil, err
	}
	n := &Notifier{options: options}
	client := newHTTPClient(options)
	for _, channel := range options.Channels {
		n.receivers = append(n.receivers, receiversOf(channel, client, options)...)
	}
	for _, receiver := range n.receivers {
		if err := receiver.sender.check(ctx); err != nil {
			return nil, fmt.Errorf("notify: channel %q: %w", receiver.channel.Name, err)
		}
	}
	return n, nil
}

// receiversOf gives each address of a mail channel a name of its own, by its place: addresses do not belong into an audit.
func receiversOf(channel Channel, client *http.Client, options Options) []receiver {
	switch {
	case channel.Slack != nil:
		return []receiver{{channel.Name, channel, slackSender{client, *channel.Slack}}}
	case channel.Webhook != nil:
		return []receiver{{channel.Name, channel, webhookSender{client, *channel.Webhook}}}
	}
	var all []receiver
	for i, to := range channel.Mail.To {
		name := channel.Name
		if len(channel.Mail.To) > 1 {
			name += "/" + strconv.Itoa(i+1)
		}
		all = append(all, receiver{name, channel, mailSender{*channel.Mail, to, options.RootCAs}})
	}
	return all
}

// Providers returns the providers that channels are restricted to, so that a worker can check that it has their tables.
func (n *Notifier) Providers() []string {
	var all []string
	for _, channel := range n.options.Channels {
		all = append(all, channel.Providers...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// Notify makes one attempt on every channel that gets the notification. The worker's activity calls Deliver instead.
func (n *Notifier) Notify(ctx context.Context, notification wire.Notification) error {
	result := n.Deliver(ctx, notification, wire.NotifyResult{}, func(wire.NotifyResult) {})
	for _, channel := range result.Channels {
		if channel.State != wire.DeliveryDelivered {
			return errors.New(operation.NoticeDetail(result, true))
		}
	}
	return nil
}

// Deliver makes one attempt on all channels concurrently. See activities.ChannelNotifier.
func (n *Notifier) Deliver(ctx context.Context, notification wire.Notification, before wire.NotifyResult, progress func(wire.NotifyResult)) wire.NotifyResult {
	if n.options.Logger != nil && len(before.Channels) == 0 {
		_ = n.guarded("log", func() error { return activities.LogNotifier{Logger: n.options.Logger}.Notify(ctx, notification) })
	}
	round := newRound(n.receiversFor(notification), before)
	var attempts sync.WaitGroup
	for i, receiver := range round.receivers {
		if !round.due(i, time.Now()) {
			continue
		}
		attempts.Go(func() {
			err := n.attempt(ctx, receiver, notification)
			round.take(i, err, time.Now(), progress)
		})
	}
	attempts.Wait()
	return round.result()
}

func (n *Notifier) receiversFor(notification wire.Notification) []receiver {
	var wanted []receiver
	for _, receiver := range n.receivers {
		if receiver.channel.takes(notification) {
			wanted = append(wanted, receiver)
		}
	}
	return wanted
}

func (n *Notifier) attempt(ctx context.Context, to receiver, notification wire.Notification) error {
	return n.guarded(to.name, func() error {
		ctx, cancel := context.WithTimeout(ctx, attemptTimeout)
		defer cancel()
		return to.sender.send(ctx, newMessage(notification, n.options.BaseURL, to.name))
	})
}

// guarded keeps a panic in the words, or in what lies below, from ending the worker or the other channels. The log says where
// it was: its value may hold a secret, its type and the stack hold none.
func (n *Notifier) guarded(channel string, do func() error) (err error) {
	defer func() {
		if fault := recover(); fault != nil {
			n.logger().Error("a channel panicked",
				"channel", channel, "type", fmt.Sprintf("%T", fault), "stack", string(debug.Stack()))
			err = &failure{detail: "panic in the channel, see the worker's log"}
		}
	}()
	return do()
}

func (n *Notifier) logger() *slog.Logger {
	if n.options.Logger == nil {
		return slog.Default()
	}
	return n.options.Logger
}

// round is one attempt on all receivers of a notification.
type round struct {
	receivers []receiver
	// former are receivers that had the notification already and are not configured any more.
	former []wire.Delivery

	mu    sync.Mutex
	state []wire.Delivery
}

func newRound(receivers []receiver, before wire.NotifyResult) *round {
	r := &round{receivers: receivers, state: make([]wire.Delivery, len(receivers))}
	known := map[string]wire.Delivery{}
	for _, delivery := range before.Channels {
		known[delivery.Channel] = delivery
	}
	for i, receiver := range receivers {
		r.state[i] = wire.Delivery{Channel: receiver.name, State: wire.DeliveryPending}
		if delivery, ok := known[receiver.name]; ok {
			r.state[i] = delivery
			delete(known, receiver.name)
		}
	}
	for _, delivery := range before.Channels {
		if _, gone := known[delivery.Channel]; gone && delivery.State == wire.DeliveryDelivered {
			r.former = append(r.former, delivery)
		}
	}
	return r
}

// early is by how much a channel may be tried before its time, so that a retry that comes a moment too soon is not wasted.
const early = 200 * time.Millisecond

func (r *round) due(i int, now time.Time) bool {
	delivery := r.state[i]
	if delivery.State != wire.DeliveryPending {
		return false
	}
	return delivery.NotBefore == nil || delivery.NotBefore.Before(now.Add(early)) || delivery.NotBefore.Equal(now)
}

// take notes what came of one attempt. What is settled is told at once.
func (r *round) take(i int, err error, now time.Time, progress func(wire.NotifyResult)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delivery := &r.state[i]
	delivery.Attempts++
	delivery.Detail, delivery.NotBefore = "", nil
	if err == nil {
		delivery.State = wire.DeliveryDelivered
		progress(r.snapshot())
		return
	}
	failed := asFailure(err)
	delivery.Detail = failed.detail
	if failed.final {
		delivery.State = wire.DeliveryRefused
		progress(r.snapshot())
		return
	}
	delivery.NotBefore = new(now.Add(max(backoff(delivery.Attempts), failed.after)).UTC())
}

func (r *round) result() wire.NotifyResult {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.snapshot()
}

func (r *round) snapshot() wire.NotifyResult {
	channels := append(slices.Clone(r.state), r.former...)
	return wire.NotifyResult{Channels: channels, Nobody: len(channels) == 0}
}

const (
	firstBackoff   = 2 * time.Second
	longestBackoff = 2 * time.Minute
)

// backoff doubles with every attempt; half of it is chance, so that messages that failed together do not come back together.
func backoff(attempts int) time.Duration {
	full := longestBackoff
	if attempts < 7 {
		full = min(firstBackoff<<(attempts-1), longestBackoff)
	}
	return full/2 + rand.N(full/2)
}
