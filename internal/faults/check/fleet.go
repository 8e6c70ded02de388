package check

import (
	"net/http"
	"time"
)

// longestHold is how long one answer keeps other waits away, unless a worker is told otherwise.
const longestHold = 10 * time.Minute

// Fleet collects what the waits of one provider have sent, to be held against what it asked of any of them. It is filled wait by
// wait, so that their histories need not be kept.
type Fleet struct {
	held map[lane][]held
	sent map[lane][]sent
}

// lane is what shares a hold: a worker process and a credential, since all jobs here are of one origin.
type lane struct{ worker, credential string }

// held is a time in which others are kept away, and when the worker had learned of it.
type held struct {
	learned, until time.Time
	job            string
}

// sent is a request that had to heed what was learned before its last attempt began.
type sent struct {
	started, received time.Time
	job               string
}

// Add adds a wait.
func (f *Fleet) Add(w Wait) { f.add(w.read(time.Time{})) }

// AddSubmission adds a submission, whose requests are held back like those of waits, and vice versa.
func (f *Fleet) AddSubmission(s Submission) { f.add(s.read(time.Time{}).checker) }

func (f *Fleet) add(c *checker) {
	if f.held == nil {
		f.held, f.sent = map[lane][]held{}, map[lane][]sent{}
	}
	for _, s := range c.sendings {
		if s.request == nil || !s.yields {
			continue
		}
		of := lane{s.worker, s.credential}
		f.sent[of] = append(f.sent[of], sent{s.started, s.request.ReceivedAt, c.Spec.ProviderJobID})
		if until := s.holds(); !until.IsZero() {
			f.held[of] = append(f.held[of], held{s.closed, until, c.Spec.ProviderJobID})
		}
	}
}

// holds is until when an answer that came through keeps others away; zero: it does not, or does not say how long.
func (s sending) holds() time.Time {
	seen := s.observation()
	if s.request.Ending != "answered" || s.closed.IsZero() || seen == nil || seen.HTTPStatus != s.request.Status {
		return time.Time{}
	}
	if s.request.Status != http.StatusTooManyRequests && s.request.Status != http.StatusServiceUnavailable {
		return time.Time{}
	}
	wait := retryAfter(s.request.RetryAfter, s.request.AnsweredAt)
	if wait <= 0 {
		return time.Time{}
	}
	return s.request.AnsweredAt.Add(min(wait, longestHold))
}

// Check returns every request that was sent although another wait's answer should have held it back.
func (f *Fleet) Check() []Violation {
	c := &checker{}
	for of, requests := range f.sent {
		for _, r := range requests {
			for _, h := range f.held[of] {
				if r.started.After(h.learned) && r.received.Before(h.until) {
					c.Spec.ProviderJobID = r.job
					c.say(RuleHold, "sent by %s at %s, which had been told by %s to send nothing before %s", of.worker, clock(r.received), h.job, clock(h.until))
				}
			}
		}
	}
	return c.found
}

// Holds returns how many answers held back requests of others.
func (f *Fleet) Holds() int {
	n := 0
	for _, of := range f.held {
		n += len(of)
	}
	return n
}
