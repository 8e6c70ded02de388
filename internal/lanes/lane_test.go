package lanes_test

import (
	"container/heap"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/jobwait/jobwait/internal/lanes"
	"github.com/jobwait/jobwait/wire"
)

var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func at(after time.Duration) time.Time { return start.Add(after) }

// holding is a lane whose answers hold others back and that has no other limits.
func holding() *lanes.Lane { return lanes.New(lanes.Limits{MaxHold: 10 * time.Minute}) }

// told lets one request go and be answered a moment later.
func told(lane *lanes.Lane, when time.Time, answer lanes.Answer) bool {
	lane.Ask(when, lanes.Request{Wait: answer.Wait})
	answer.Went = when
	return lane.Done(when.Add(100*time.Millisecond), answer)
}

func limited(retryAfter time.Duration) lanes.Answer {
	return lanes.Answer{Kind: lanes.Limited, RetryAfter: retryAfter, Wait: "a"}
}

func TestNothingHoldsBackWithoutLimitsAndHolds(t *testing.T) {
	t.Parallel()
	lane := holding()
	for i := range 1000 {
		require.Equal(t, lanes.Verdict{Do: lanes.Go}, lane.Ask(at(time.Duration(i)*time.Millisecond), lanes.Request{}))
	}
}

// R16: what one wait was told holds for the others; they come back a second early and leave when it is over, one by one.
func TestRetryAfterHoldsTheOthersBack(t *testing.T) {
	t.Parallel()
	lane := holding()
	require.True(t, told(lane, start, limited(time.Minute)))
	until := at(100*time.Millisecond + time.Minute)

	first := lane.Ask(at(time.Second), lanes.Request{Wait: "b"})
	require.Equal(t, lanes.Verdict{
		Do: lanes.Back, For: until.Sub(at(2 * time.Second)), Cause: wire.HoldRateLimited, Until: until,
		Ticket: lanes.Ticket{Slot: until, NotBefore: until, Held: wire.HoldRateLimited, Times: 1},
	}, first)
	second := lane.Ask(at(2*time.Second), lanes.Request{Wait: "c"})
	require.Equal(t, until.Add(time.Second/4), second.Ticket.Slot)

	early := lane.Ask(until.Add(-time.Second), lanes.Request{Wait: "b", Ticket: first.Ticket})
	require.Equal(t, lanes.Sleep, early.Do)
	require.Equal(t, time.Second, early.For)
	require.Equal(t, lanes.Go, lane.Ask(until, lanes.Request{Wait: "b", Ticket: early.Ticket, Slept: time.Second}).Do)
	require.Equal(t, lanes.Sleep, lane.Ask(until, lanes.Request{Wait: "c", Ticket: second.Ticket}).Do)
}

func TestHoldsByAnswer(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		answers []lanes.Answer
		want    time.Duration // of the hold that the last answer leaves; 0: none
	}{
		"429 with Retry-After": {[]lanes.Answer{limited(90 * time.Second)}, 90 * time.Second},
		"503 with Retry-After": {[]lanes.Answer{{Kind: lanes.Down, RetryAfter: 20 * time.Second}}, 20 * time.Second},
		"anything else":        {[]lanes.Answer{{Kind: lanes.Answered, RetryAfter: time.Minute}}, 0},
		"lost":                 {[]lanes.Answer{{Kind: lanes.Lost}}, 0},
		"429 without":          {[]lanes.Answer{limited(0)}, 5 * time.Second},
		"429 without, the provider has a least time": {[]lanes.Answer{{Kind: lanes.Limited, Least: 7 * time.Second}}, 7 * time.Second},
		"twice without":             {[]lanes.Answer{limited(0), limited(0)}, 10 * time.Second},
		"five times without":        {[]lanes.Answer{limited(0), limited(0), limited(0), limited(0), limited(0)}, time.Minute},
		"a good answer between":     {[]lanes.Answer{limited(0), limited(0), {Kind: lanes.Answered}, limited(0)}, 5 * time.Second},
		"longer than a hold may be": {[]lanes.Answer{limited(time.Hour)}, 10 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			lane, now := holding(), start
			for _, answer := range test.answers {
				now = now.Add(time.Hour)
				told(lane, now, answer)
			}
			now = now.Add(100 * time.Millisecond)
			verdict := lane.Ask(now, lanes.Request{Wait: "b"})
			if test.want == 0 {
				require.Equal(t, lanes.Go, verdict.Do)
				return
			}
			require.Equal(t, lanes.Back, verdict.Do)
			require.Equal(t, now.Add(test.want), verdict.Until)
		})
	}
}

func TestAnOlderAnswerShortensNothing(t *testing.T) {
	t.Parallel()
	lane := holding()
	require.True(t, told(lane, start, limited(time.Minute)))
	require.False(t, told(lane, at(time.Second), limited(time.Second)))
	until := at(100*time.Millisecond + time.Minute)
	require.False(t, lane.Ask(at(2*time.Second), lanes.Request{}).Until.Before(until))
	require.True(t, told(lane, at(3*time.Second), limited(2*time.Minute)))
	require.Equal(t, at(3100*time.Millisecond+2*time.Minute), lane.Ask(at(4*time.Second), lanes.Request{}).Until)
}

// Of ten requests that were under way together, ten 429 without guidance are one, not ten that follow each other.
func TestAnswersToRequestsOfTheSameMomentAreOne(t *testing.T) {
	t.Parallel()
	lane := holding()
	for range 10 {
		lane.Ask(start, lanes.Request{})
	}
	for range 10 {
		lane.Done(at(time.Second), lanes.Answer{Kind: lanes.Limited, Went: start})
	}
	require.Equal(t, at(6*time.Second), lane.Ask(at(time.Second), lanes.Request{}).Until)
}

// The wait that was told itself keeps its own time, and is not sent to the end of the queue for it.
func TestWhoHeededTheAnswerIsNotDelayedTwice(t *testing.T) {
	t.Parallel()
	lane := holding()
	told(lane, start, limited(time.Minute))
	for range 100 {
		lane.Ask(at(time.Second), lanes.Request{Wait: "b"})
	}
	over := at(62 * time.Second)
	require.Equal(t, lanes.Go, lane.Ask(over, lanes.Request{Wait: "a"}).Do)
	behind := lane.Ask(over, lanes.Request{Wait: "z"})
	require.Equal(t, lanes.Back, behind.Do)
	require.Equal(t, wire.HoldQueue, behind.Cause)
}

// R19: a hold that ends at the deadline or later leaves nothing to wait for.
func TestAHoldPastTheDeadlineIsRefused(t *testing.T) {
	t.Parallel()
	lane := holding()
	told(lane, start, limited(time.Hour))
	cap, asked := at(100*time.Millisecond+10*time.Minute), at(100*time.Millisecond+time.Hour)
	require.Equal(t, lanes.Verdict{Do: lanes.Refuse, Cause: wire.HoldRateLimited, Until: asked, Named: true},
		lane.Ask(at(time.Second), lanes.Request{By: cap}))
	require.Equal(t, lanes.Back, lane.Ask(at(time.Second), lanes.Request{By: cap.Add(time.Millisecond)}).Do)
}

// R19: a time that we made up for a 429 without Retry-After is not the provider's word.
func TestAHoldThatNobodyAskedForIsNotNamed(t *testing.T) {
	t.Parallel()
	lane := holding()
	told(lane, start, limited(0))
	require.Equal(t, lanes.Verdict{Do: lanes.Refuse, Cause: wire.HoldRateLimited, Until: at(5100 * time.Millisecond)},
		lane.Ask(at(time.Second), lanes.Request{By: at(4 * time.Second)}))
}

// Behind the hold but before its turn in the queue, the deadline decides.
func TestTheQueueGivesWayToADeadline(t *testing.T) {
	t.Parallel()
	lane := holding()
	told(lane, start, limited(time.Minute))
	for range 200 {
		lane.Ask(at(time.Second), lanes.Request{})
	}
	until := at(100*time.Millisecond + time.Minute)
	verdict := lane.Ask(at(2*time.Second), lanes.Request{By: until.Add(15 * time.Second)})
	require.Equal(t, lanes.Back, verdict.Do)
	require.Equal(t, until.Add(5*time.Second), verdict.Ticket.Slot)
}

// A provider that asks for an hour is asked by one request after the longest hold; the others wait for its answer.
func TestOneProbeAfterACappedHold(t *testing.T) {
	t.Parallel()
	lane := holding()
	told(lane, start, limited(time.Hour))
	ticket := lane.Ask(at(time.Second), lanes.Request{Wait: "b"}).Ticket
	over := ticket.Slot
	verdict := lane.Ask(over, lanes.Request{Wait: "b", Ticket: ticket})
	require.Equal(t, lanes.Verdict{Do: lanes.Go, Probe: true}, verdict)
	behind := lane.Ask(over.Add(time.Second), lanes.Request{Wait: "c"})
	require.Equal(t, wire.HoldProbe, behind.Cause)

	require.True(t, lane.Done(over.Add(2*time.Second), lanes.Answer{Kind: lanes.Limited, RetryAfter: time.Hour, Went: over, Probe: true}))
	require.Equal(t, wire.HoldRateLimited, lane.Ask(over.Add(3*time.Second), lanes.Request{Wait: "d"}).Cause)

	again := over.Add(10*time.Minute + 3*time.Second)
	require.True(t, lane.Ask(again, lanes.Request{Wait: "e", Exempt: true}).Probe)
	lane.Done(again.Add(time.Second), lanes.Answer{Kind: lanes.Answered, Went: again, Probe: true})
	require.Equal(t, lanes.Verdict{Do: lanes.Go}, lane.Ask(again.Add(2*time.Minute), lanes.Request{Wait: "f"}))
}

func TestRateSpacesEvenly(t *testing.T) {
	t.Parallel()
	lane := lanes.New(lanes.Limits{Rate: 2})
	require.Equal(t, lanes.Go, lane.Ask(start, lanes.Request{}).Do)
	second := lane.Ask(start, lanes.Request{})
	require.Equal(t, lanes.Sleep, second.Do)
	require.Equal(t, time.Second/2, second.For)
	require.Equal(t, lanes.Sleep, lane.Ask(start, lanes.Request{}).Do)
	fourth := lane.Ask(start, lanes.Request{})
	require.Equal(t, lanes.Verdict{
		Do: lanes.Back, For: time.Second / 2, Cause: wire.HoldRate, Until: at(1500 * time.Millisecond),
		Ticket: lanes.Ticket{Slot: at(1500 * time.Millisecond), Times: 1},
	}, fourth)
	require.Equal(t, lanes.Verdict{Do: lanes.Refuse, Cause: wire.HoldRate, Until: at(2 * time.Second)},
		lane.Ask(start, lanes.Request{By: at(2 * time.Second)}))
}

func TestConcurrencyIsBounded(t *testing.T) {
	t.Parallel()
	lane := lanes.New(lanes.Limits{Concurrent: 2})
	require.Equal(t, lanes.Go, lane.Ask(start, lanes.Request{}).Do)
	require.Equal(t, lanes.Go, lane.Ask(start, lanes.Request{}).Do)
	third := lane.Ask(start, lanes.Request{})
	require.Equal(t, lanes.Sleep, third.Do)
	require.Equal(t, wire.HoldConcurrency, third.Cause)
	require.Equal(t, lanes.Back, lane.Ask(at(time.Second), lanes.Request{Ticket: third.Ticket, Slept: time.Second}).Do)
	lane.Done(at(time.Second), lanes.Answer{Kind: lanes.Answered, Went: start})
	require.Equal(t, lanes.Go, lane.Ask(at(time.Second), lanes.Request{Ticket: third.Ticket}).Do)
}

// After an outage all slots are long gone. Who had one queues, so that they do not leave all at once.
func TestTicketsAreWorthNothingAfterAnOutage(t *testing.T) {
	t.Parallel()
	lane := holding() // of a new process
	going := 0
	for range 100 {
		verdict := lane.Ask(at(time.Hour), lanes.Request{Ticket: lanes.Ticket{Slot: start, Times: 1}})
		if verdict.Do == lanes.Go {
			going++
		}
	}
	require.Equal(t, 1, going)
}

// A request that is sent on to another process keeps its place there.
func TestATicketHoldsInAnotherProcess(t *testing.T) {
	t.Parallel()
	here, there := holding(), holding()
	told(here, start, limited(time.Minute))
	ticket := here.Ask(at(time.Second), lanes.Request{}).Ticket
	early := there.Ask(ticket.Slot.Add(-900*time.Millisecond), lanes.Request{Ticket: ticket})
	require.Equal(t, lanes.Sleep, early.Do)
	require.Equal(t, lanes.Go, there.Ask(ticket.Slot, lanes.Request{Ticket: early.Ticket, Slept: early.For}).Do)
}

// A server may hand out a request too early, to a process that has seen nothing of the hold: the ticket keeps it away. Once the
// hold is over, the queue that the request stood in may be skipped where it is gone.
func TestATicketComesTooEarlyToAnotherProcess(t *testing.T) {
	t.Parallel()
	here, there := holding(), holding()
	told(here, start, limited(time.Minute))
	for range 39 {
		here.Ask(at(time.Second), lanes.Request{})
	}
	ticket := here.Ask(at(time.Second), lanes.Request{}).Ticket
	over := at(100*time.Millisecond + time.Minute)
	require.Equal(t, over, ticket.NotBefore)
	require.Greater(t, ticket.Slot.Sub(over), 5*time.Second)
	early := there.Ask(over.Add(-7*time.Second), lanes.Request{Ticket: ticket})
	require.Equal(t, lanes.Back, early.Do)
	require.Equal(t, wire.HoldRateLimited, early.Cause)
	require.Equal(t, ticket.Slot, early.Ticket.Slot)
	require.Equal(t, lanes.Back, there.Ask(over.Add(-time.Millisecond), lanes.Request{Ticket: early.Ticket}).Do)
	require.Equal(t, lanes.Go, there.Ask(over, lanes.Request{Ticket: early.Ticket}).Do)
}

// A queue whose members have gone away does not delay those who come later.
func TestAQueueOfPhantomsIsForgotten(t *testing.T) {
	t.Parallel()
	lane := lanes.New(lanes.Limits{Rate: 1})
	for range 1000 {
		lane.Ask(start, lanes.Request{})
	}
	require.Equal(t, lanes.Go, lane.Ask(at(time.Minute), lanes.Request{}).Do)
}

// trip is one request of a simulated crowd.
type trip struct {
	when, came time.Time
	request    lanes.Request
	done       bool
	kind       lanes.Kind
	after      time.Duration
}

type trips []*trip

func (q trips) Len() int           { return len(q) }
func (q trips) Less(i, j int) bool { return q[i].when.Before(q[j].when) }
func (q trips) Swap(i, j int)      { q[i], q[j] = q[j], q[i] }
func (q *trips) Push(x any)        { *q = append(*q, x.(*trip)) }
func (q *trips) Pop() any          { old := *q; x := old[len(old)-1]; *q = old[:len(old)-1]; return x }

// Whatever comes: nothing leaves during a hold, above the rate or beyond the bound; nobody sleeps for more than a second or is
// refused without need; and everybody leaves in the end.
func TestEveryCrowdIsServed(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		limits := lanes.Limits{
			Rate:       rapid.SampledFrom([]float64{0, 0, 0.5, 3, 40}).Draw(t, "rate"),
			Concurrent: rapid.SampledFrom([]int{0, 0, 1, 5}).Draw(t, "concurrent"),
			MaxHold:    rapid.SampledFrom([]time.Duration{0, 10 * time.Second, time.Minute}).Draw(t, "hold"),
		}
		lane, queue := lanes.New(limits), trips{}
		for range rapid.IntRange(1, 60).Draw(t, "requests") {
			came := at(time.Duration(rapid.IntRange(0, 20_000).Draw(t, "came")) * time.Millisecond)
			one := &trip{
				when: came, came: came,
				kind:  rapid.SampledFrom([]lanes.Kind{lanes.NotSent, lanes.Lost, lanes.Answered, lanes.Answered, lanes.Limited, lanes.Down}).Draw(t, "answer"),
				after: time.Duration(rapid.IntRange(0, 90).Draw(t, "retry_after")) * time.Second,
			}
			if rapid.Bool().Draw(t, "hurry") {
				one.request.By = came.Add(time.Duration(rapid.IntRange(1, 120).Draw(t, "by")) * time.Second)
			}
			if one.kind == lanes.Down {
				one.after = max(one.after, time.Second)
			}
			heap.Push(&queue, one)
		}
		serve(t, lane, limits, queue)
	})
}

func serve(t *rapid.T, lane *lanes.Lane, limits lanes.Limits, queue trips) {
	heap.Init(&queue)
	var held time.Time
	var left []time.Time
	underWay := 0
	for steps := 0; len(queue) > 0; steps++ {
		require.Less(t, steps, 100_000, "somebody is sent around for ever")
		one := heap.Pop(&queue).(*trip)
		now := one.when
		if one.done {
			underWay--
			if lane.Done(now, lanes.Answer{Kind: one.kind, Went: one.came, RetryAfter: one.after}) && one.after > 0 {
				held = now.Add(min(one.after, limits.MaxHold))
			}
			continue
		}
		verdict := lane.Ask(now, one.request)
		switch verdict.Do {
		case lanes.Go:
			require.False(t, now.Before(held), "left at %s, held until %s", now, held)
			underWay++
			require.True(t, limits.Concurrent == 0 || underWay <= limits.Concurrent)
			left = append(left, now)
			one.done, one.came, one.when = true, now, now.Add(300*time.Millisecond)
			heap.Push(&queue, one)
		case lanes.Sleep:
			one.request.Slept += verdict.For
			require.LessOrEqual(t, one.request.Slept, time.Second)
			one.request.Ticket, one.when = verdict.Ticket, now.Add(verdict.For)
			heap.Push(&queue, one)
		case lanes.Back:
			require.GreaterOrEqual(t, verdict.For, 100*time.Millisecond)
			require.Equal(t, one.request.Ticket.Times+1, verdict.Ticket.Times)
			one.request.Slept, one.request.Ticket, one.when = 0, verdict.Ticket, now.Add(verdict.For)
			heap.Push(&queue, one)
		case lanes.Refuse:
			require.False(t, one.request.By.IsZero())
			require.False(t, verdict.Until.Before(one.request.By))
		}
	}
	for i := range left {
		for n := 1; limits.Rate > 0 && n <= i; n++ { // an eighth of a second's worth may be ahead of the rate
			least := time.Duration(float64(n)*float64(time.Second)/limits.Rate) - ahead(limits.Rate)
			require.GreaterOrEqual(t, left[i].Sub(left[i-n]), least-time.Millisecond)
		}
	}
}

// ahead is how much earlier than at its rate a request may leave: where an eighth of a second is less than a request, not at all.
func ahead(rate float64) time.Duration {
	if rate < 8 {
		return 0
	}
	return time.Second / 8
}
