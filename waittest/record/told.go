package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	historypb "go.temporal.io/api/history/v1"

	"github.com/jobwait/jobwait/activities"
	"github.com/jobwait/jobwait/internal/bed"
	"github.com/jobwait/jobwait/notify"
	"github.com/jobwait/jobwait/waittest"
	"github.com/jobwait/jobwait/wire"
)

// told are waits whose people are told by two channels, of which one takes nothing.
func told() []wait {
	return []wait{
		{name: "told_decision_and_end", script: waittest.Script(waittest.State("paused"), done), people: decide(extend(4)), messages: true},
		{name: "told_close", script: waittest.Script(waittest.State("paused")), people: decide(kind(wire.DecisionClose)), messages: true},
		{name: "told_failure", script: waittest.Script(waittest.Failed("E42", "disk full")), messages: true},
	}
}

// channels listens as both receivers, and gives the worker the notifier that tells them.
func channels(ctx context.Context, _ *bed.Bed, options *bed.WorkerOptions) (stop func(), err error) {
	mux := http.NewServeMux()
	mux.HandleFunc("/takes", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("/gone", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusGone) })
	origin, stop, err := serve(ctx, mux)
	if err != nil {
		return nil, err
	}
	at := func(path string) *notify.Slack {
		return &notify.Slack{URL: func(context.Context) (activities.Secret, error) {
			return activities.NewSecret(origin + path)
		}}
	}
	options.Notifier, err = notify.New(ctx, notify.Options{Channels: []notify.Channel{
		{Name: "takes", Slack: at("/takes")}, {Name: "gone", Slack: at("/gone")},
	}})
	return stop, err
}

// serve listens on the loopback until it is stopped, and says where.
func serve(ctx context.Context, handler http.Handler) (origin string, stop func(), err error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	server := &http.Server{Handler: handler, ReadHeaderTimeout: time.Minute}
	go func() { _ = server.Serve(listener) }() // until it is closed
	return "http://" + listener.Addr().String(), func() { _ = server.Close() }, nil
}

// saveMessages writes the histories of the workflows to which the word on the end was handed over.
func (w wait) saveMessages(ctx context.Context, b *bed.Bed, history *historypb.History, dir string, progress io.Writer) error {
	for _, event := range history.GetEvents() {
		message := event.GetChildWorkflowExecutionStartedEventAttributes().GetWorkflowExecution()
		if message == nil {
			continue
		}
		err := b.Client.GetWorkflow(ctx, message.GetWorkflowId(), message.GetRunId()).Get(ctx, nil)
		fmt.Fprintf(progress, "record: %s, its message: %v\n", w.name, err) // one channel takes nothing: it fails
		history, err := waittest.FetchHistory(ctx, b.Client, message.GetWorkflowId(), message.GetRunId())
		if err != nil {
			return err
		}
		if err := write(dir, w.name+"_message", history); err != nil {
			return err
		}
	}
	return nil
}
