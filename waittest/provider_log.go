package waittest

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// RequestKind is what a logged request asked for.
type RequestKind string

// The kinds of request.
const (
	KindStatus RequestKind = "status" // GET of a job's status URL
	KindCancel RequestKind = "cancel" // POST of its cancel URL
	KindSubmit RequestKind = "submit" // POST that submits a job
	KindOther  RequestKind = "other"  // anything else; answered 404 or 405
)

// Ending is how a logged request ended for the provider.
type Ending string

// The endings of a request.
const (
	EndingOpen       Ending = ""            // it is still held or being answered
	EndingAnswered   Ending = "answered"    // the whole answer was written; whether the client read it is not for a server to know
	EndingClientGone Ending = "client_gone" // the client hung up before the answer was written
	EndingCut        Ending = "cut"         // by script
	EndingClosed     Ending = "closed"      // by script
	EndingReset      Ending = "reset"       // by script
	EndingStopped    Ending = "stopped"     // the provider was closed
)

// LogEntry is one request that reached the provider. It holds no credential and no query value.
//
// All times of one provider come from one monotonic clock that was set to the wall clock at its start, so they can be compared with each
// other, in JSON too, whatever happens to the wall clock.
type LogEntry struct {
	// Seq counts the provider's requests from 1, in the order of arrival.
	Seq        int         `json:"seq"`
	ReceivedAt time.Time   `json:"received_at"`
	Kind       RequestKind `json:"kind"`
	Method     string      `json:"method"`
	// Path is escaped as it arrived, without the query.
	Path string `json:"path"`
	// Job is the unescaped job id; empty when the path names none.
	Job string `json:"job,omitempty"`
	// Headers are the names of the headers present, sorted.
	Headers []string `json:"headers"`
	// AuthPresented reports whether there was an Authorization header, and Authorized whether it had the provider's key or the provider
	// has none. AuthSHA256 is the hex digest of the header, by which credentials can be told apart.
	AuthPresented bool   `json:"auth_presented"`
	Authorized    bool   `json:"authorized"`
	AuthSHA256    string `json:"auth_sha256,omitempty"`

	// IdempotencyKey and Report are those of Submission, and Made reports whether this request made the job. One that was answered with
	// the existing job of its key did not.
	IdempotencyKey string `json:"idempotency_key,omitempty"`
	Report         string `json:"report,omitempty"`
	Made           bool   `json:"made,omitempty"`

	// Status is the HTTP status sent; 0 when none was.
	Status int `json:"status,omitempty"`
	// State is the scripted state of the answer.
	State string `json:"state,omitempty"`
	// AnsweredAt is the time just before the first byte of the answer.
	AnsweredAt time.Time `json:"answered_at,omitzero"`
	// RetryAfter holds the Retry-After lines sent.
	RetryAfter []string `json:"retry_after,omitempty"`
	// NotBefore is the earliest time of the next status request that RetryAfter permits; zero if it asks for nothing.
	NotBefore time.Time `json:"not_before,omitzero"`
	Ending    Ending    `json:"ending"`
}

// requestLog is the provider's memory of what arrived.
type requestLog struct {
	mu      sync.Mutex
	entries []*LogEntry
	changed chan struct{} // closed and replaced on every change
	out     io.Writer     // JSON lines of finished entries; may be nil
	outErr  error         // the first failure to write out
}

func newRequestLog(out io.Writer) *requestLog {
	return &requestLog{out: out, changed: make(chan struct{})}
}

func (l *requestLog) open(entry *LogEntry) {
	l.mu.Lock()
	defer l.mu.Unlock()
	entry.Seq = len(l.entries) + 1
	l.entries = append(l.entries, entry)
	l.notify()
}

func (l *requestLog) update(entry *LogEntry, change func(*LogEntry)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	change(entry)
	if entry.Ending != EndingOpen {
		l.write(entry)
	}
	l.notify()
}

func (l *requestLog) notify() {
	close(l.changed)
	l.changed = make(chan struct{})
}

func (l *requestLog) write(entry *LogEntry) {
	if l.out == nil || l.outErr != nil {
		return
	}
	l.outErr = json.NewEncoder(l.out).Encode(entry)
}

// snapshot copies the entries of a job, or all for "", and the channel that tells the next change.
func (l *requestLog) snapshot(job string) ([]LogEntry, <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	entries := []LogEntry{}
	for _, entry := range l.entries {
		if job == "" || entry.Job == job {
			entries = append(entries, *entry)
		}
	}
	return entries, l.changed
}

func (l *requestLog) writeError() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.outErr
}

// describe notes what a request shows, without what it must keep secret.
func describe(r *http.Request, now time.Time) *LogEntry {
	entry := &LogEntry{
		ReceivedAt: now, Kind: KindOther, Method: r.Method, Path: r.URL.EscapedPath(),
		Headers: slices.Sorted(maps.Keys(r.Header)),
	}
	if auth := r.Header.Get("Authorization"); auth != "" {
		sum := sha256.Sum256([]byte(auth))
		entry.AuthPresented, entry.AuthSHA256 = true, hex.EncodeToString(sum[:])
	}
	return entry
}

// notBefore reads Retry-After for the assertions, on purpose without a line of the product's own reader: the largest of the numbers
// and dates that ask for something. A date counts from the answer's own Date.
func notBefore(lines []string, answered, date time.Time) time.Time {
	var latest time.Time
	for _, wait := range retryAfterWaits(lines, date) {
		if at := answered.Add(wait); wait > 0 && at.After(latest) {
			latest = at
		}
	}
	return latest
}

var plainNumber = regexp.MustCompile(`^[0-9]+(\.[0-9]+)?$`)

func retryAfterWaits(lines []string, date time.Time) []time.Duration {
	const longest = 100 * 365 * 24 * time.Hour
	var waits []time.Duration
	for _, line := range lines {
		if at, err := http.ParseTime(line); err == nil {
			waits = append(waits, at.Sub(date))
			continue
		}
		for number := range strings.SplitSeq(line, ",") {
			number = strings.TrimSpace(number)
			if seconds, err := strconv.ParseFloat(number, 64); err == nil && plainNumber.MatchString(number) {
				waits = append(waits, time.Duration(min(seconds, longest.Seconds())*float64(time.Second)))
			}
		}
	}
	return waits
}
