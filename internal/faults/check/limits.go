package check

import (
	"time"

	"github.com/jobwait/jobwait/wire"
)

// What the table of demo-export grants with a cancel, from its documentation.
const (
	confirmRequests = 4
	confirmTime     = time.Minute
)

// limits are what a wait may use.
type limits struct {
	requests, transport, rateLimited int
	deadline                         time.Time
	business                         *time.Time
	extensions, cancels              int
}

// limitsAt are the limits in force at that time: the spec's, and what the decisions applied until then have granted.
func (c *checker) limitsAt(at time.Time) limits {
	l := limits{
		requests: c.Spec.MaxStatusRequests, transport: c.Spec.MaxTransportFailures, rateLimited: c.Spec.MaxTransportFailures,
		deadline: c.Spec.DeadlineAt, business: c.Spec.BusinessDeadlineAt,
	}
	if c.Spec.MaxRateLimited != nil {
		l.rateLimited = *c.Spec.MaxRateLimited
	}
	for _, a := range c.applied {
		if !a.at.After(at) {
			l.grant(a)
			c.grantAnew(&l, a)
		}
	}
	return l
}

// stopAt is the deadline in force at that time, the earlier of the two.
func (c *checker) stopAt(at time.Time) time.Time {
	allowed := c.limitsAt(at)
	if business := allowed.business; business != nil && business.Before(allowed.deadline) {
		return *business
	}
	return allowed.deadline
}

// grantAnew: a submission that a person wants once more has room for one request, and as long as the first had.
func (c *checker) grantAnew(l *limits, a applied) {
	if a.decision.Kind != wire.DecisionResubmit {
		return
	}
	used := 0
	for _, s := range c.polls() {
		used += count(s.scheduled.Before(a.at))
	}
	l.requests = max(l.requests, used+1)
	l.extend(a.at.Add(c.Spec.DeadlineAt.Sub(c.opened())))
}

// opened is when the first run began.
func (c *checker) opened() time.Time {
	if len(c.Runs) == 0 || len(c.Runs[0].History.GetEvents()) == 0 {
		return time.Time{}
	}
	return c.Runs[0].History.GetEvents()[0].GetEventTime().AsTime()
}

func (l *limits) grant(a applied) {
	d := a.decision
	switch d.Kind { //nolint:exhaustive // the other kinds grant nothing
	case wire.DecisionCancel:
		l.cancels++
		l.requests += confirmRequests
		l.extend(a.at.Add(confirmTime))
		l.business = nil
	case wire.DecisionExtend, wire.DecisionTreatAsPending, wire.DecisionUseCredential:
		l.requests += d.StatusRequests
		l.transport += d.TransportFailures
		l.rateLimited += d.RateLimited
		if d.Seconds > 0 {
			l.extend(a.at.Add(time.Duration(d.Seconds) * time.Second))
		}
		if d.PastBusinessDeadline {
			l.business = nil
		}
		bare := d.Seconds == 0 && d.StatusRequests == 0 && d.TransportFailures == 0 && d.RateLimited == 0 && !d.PastBusinessDeadline
		if d.Kind != wire.DecisionUseCredential || !bare {
			l.extensions++
		}
	}
}

// extend allows for the milliseconds in which the audit writes times: a deadline is rounded up, an entry's time down.
func (l *limits) extend(to time.Time) {
	if to = to.Add(2 * time.Millisecond); to.After(l.deadline) {
		l.deadline = to
	}
}
