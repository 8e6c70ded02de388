package main

import (
	"context"
	"io"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"

	"go.temporal.io/sdk/client"
	"gocloud.dev/blob/memblob"

	"github.com/jobwait/jobwait"
	"github.com/jobwait/jobwait/activities"
	"github.com/jobwait/jobwait/internal/bed"
	"github.com/jobwait/jobwait/internal/devserver"
	"github.com/jobwait/jobwait/waittest"
	"github.com/jobwait/jobwait/wire"
)

// renewing is a provider whose status has a fresh link for one that ran out.
const renewing = "demo-renewing"

// files are what the provider's jobs have made, at the origin where it also tells of them.
type files struct {
	origin string
	tried  atomic.Int64
	// held is told of a request that is answered by nothing.
	held chan struct{}
}

// fetched are fetches of what a wait has found.
func fetched() group {
	f := &files{held: make(chan struct{}, 1)}
	return group{
		server: devserver.Options{SearchAttributes: true, FastTimers: true}, ready: f.ready,
		waits: []wait{
			f.fetch("fetched", "demo-export", nil, "/files/second"),
			f.fetch("fetch_renewed", renewing, nil, "/files/old", "/files/whole"),
			f.fetch("fetch_failed", "demo-export", nil, "/files/old"),
			f.fetch("fetch_cancelled", "demo-export", f.cancel, "/files/held"),
		},
	}
}

// ready serves the files beside the provider, and gives the worker somewhere to carry them.
func (f *files) ready(ctx context.Context, b *bed.Bed, options *bed.WorkerOptions) (stop func(), err error) {
	home, err := url.Parse(b.Provider.URL())
	if err != nil {
		return nil, err
	}
	remove, err := addTables(options, func(dir string) error {
		return bed.WriteTable(dir, renewing, "file: body.result_url", "file: {read: body.result_url, renewable: {source: jobwait}}")
	})
	if err != nil {
		return nil, err
	}
	origin, end, err := serve(ctx, f.beside(home))
	if err != nil {
		remove()
		return nil, err
	}
	f.origin = origin
	credential := b.Credential("1", bed.Key)
	credential.Origins = []string{origin}
	options.Credentials = bed.Credentials{"demo": credential}
	options.Destinations = map[string]activities.Destination{"reports": {Bucket: memblob.OpenBucket(nil)}}
	return func() { end(); remove() }, nil
}

func (f *files) beside(provider *url.URL) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/", httputil.NewSingleHostReverseProxy(provider))
	mux.HandleFunc("GET /files/whole", whole)
	mux.HandleFunc("GET /files/second", f.second)
	mux.HandleFunc("GET /files/held", f.hold)
	mux.HandleFunc("GET /files/old", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusGone) })
	return mux
}

func whole(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "rows\n") }

// second is whole for who asks again.
func (f *files) second(w http.ResponseWriter, r *http.Request) {
	if f.tried.Add(1) > 1 {
		whole(w, r)
		return
	}
	w.Header().Set("Retry-After", "1")
	w.WriteHeader(http.StatusServiceUnavailable)
}

func (f *files) hold(_ http.ResponseWriter, r *http.Request) {
	f.held <- struct{}{}
	<-r.Context().Done()
}

func (f *files) cancel(ctx context.Context, b *bed.Bed, run client.WorkflowRun) error {
	select {
	case <-f.held:
		return b.Client.CancelWorkflow(ctx, run.GetID(), run.GetRunID())
	case <-ctx.Done():
		return ctx.Err()
	}
}

// fetch is the fetch of what a wait finds at the first of the paths; status answers after that name the others.
func (f *files) fetch(name, provider string, people func(context.Context, *bed.Bed, client.WorkflowRun) error, paths ...string) wait {
	return wait{
		name: name, people: people,
		spec: func(spec *wire.Spec) { spec.Provider = provider },
		before: func(_ context.Context, b *bed.Bed) error {
			var steps []waittest.Step
			for _, path := range paths {
				steps = append(steps, waittest.Succeeded(f.origin+path))
			}
			return b.Provider.Set(name, waittest.Script(steps...))
		},
		begin: f.begin,
	}
}

// begin waits for the job, and starts the fetch of its result.
func (f *files) begin(ctx context.Context, b *bed.Bed, spec wire.Spec) (client.WorkflowRun, error) {
	spec.StatusURL = strings.Replace(spec.StatusURL, b.Provider.URL(), f.origin, 1)
	waited, err := b.Start(ctx, spec)
	if err != nil {
		return nil, err
	}
	outcome, err := b.Outcome(ctx, waited)
	if err != nil {
		return nil, err
	}
	fetch, err := jobwait.NewFetchSpec(spec, outcome, "file")
	if err != nil {
		return nil, err
	}
	fetch.Destination, fetch.Key, fetch.MaxBytes, fetch.DeadlineAt = "reports", spec.ProviderJobID, 1<<20, spec.DeadlineAt
	return jobwait.StartFetch(ctx, b.Client, fetch, jobwait.StartOptions{})
}
