package bench

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"
)

const (
	stateRunning   = "running"
	stateSucceeded = "succeeded"
	providerKey    = "bench-key"
)

// provider answers status requests for jobs and counts them. A job's id is GROUP.NAME; a group is what a phase measures. Jobs run
// forever unless end is called.
type provider struct {
	server   *http.Server
	listener net.Listener

	mu     sync.Mutex
	polls  map[string]int       // by group
	counts map[string]int       // by job
	first  map[string]time.Time // by job
	ends   map[string]int       // by job: the number of the request that is answered with success
}

func newProvider(ctx context.Context) (*provider, error) {
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("bench: provider: %w", err)
	}
	p := &provider{
		listener: listener, polls: map[string]int{}, counts: map[string]int{}, first: map[string]time.Time{}, ends: map[string]int{},
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /exports/{job}", p.status)
	p.server = &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = p.server.Serve(listener) }() // it ends with close
	return p, nil
}

func (p *provider) close() error { return p.server.Close() }

func (p *provider) origin() string { return "http://" + p.listener.Addr().String() }

func (p *provider) url(job string) string { return p.origin() + "/exports/" + job }

func (p *provider) status(w http.ResponseWriter, request *http.Request) {
	if request.Header.Get("Authorization") != "Bearer "+providerKey {
		http.Error(w, "wrong key", http.StatusUnauthorized)
		return
	}
	job := request.PathValue("job")
	body := `{"job_id":"` + job + `","state":"` + stateRunning + `"}`
	if p.count(job) {
		body = `{"job_id":"` + job + `","state":"` + stateSucceeded + `","result_url":"https://files.example.com/done.csv"}`
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write([]byte(body))
}

// count counts a request and reports whether the job has ended with it.
func (p *provider) count(job string) bool {
	now := time.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	group, _, _ := strings.Cut(job, ".")
	p.polls[group]++
	p.counts[job]++
	if p.counts[job] == 1 {
		p.first[job] = now
	}
	return p.ends[job] > 0 && p.counts[job] >= p.ends[job]
}

// end makes the nth request of a job succeed.
func (p *provider) end(job string, nth int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ends[job] = nth
}

// pollsOf returns how many requests a group has sent.
func (p *provider) pollsOf(group string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.polls[group]
}

// least returns the smallest number of requests that any of the jobs has sent.
func (p *provider) least(jobs []string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	least := -1
	for _, job := range jobs {
		if n := p.counts[job]; least < 0 || n < least {
			least = n
		}
	}
	return max(least, 0)
}

// firstOf returns when the first request of a job came; the zero time if none did.
func (p *provider) firstOf(job string) time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.first[job]
}

var errTooSlow = errors.New("bench: the machine is too slow for this phase")

// until waits for a condition, which it checks a few times per second.
func until(ctx context.Context, patience time.Duration, holds func() bool) error {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, errTooSlow)
	defer cancel()
	for tick := time.NewTicker(100 * time.Millisecond); ; {
		if holds() {
			tick.Stop()
			return nil
		}
		select {
		case <-ctx.Done():
			tick.Stop()
			return context.Cause(ctx)
		case <-tick.C:
		}
	}
}

// pause lets a phase run for a while.
func pause(ctx context.Context, length time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(length):
		return nil
	}
}
