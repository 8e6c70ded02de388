package timeline_test

import (
	"encoding/json"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/jobwait/jobwait/internal/inboxcmd/timeline"
	"github.com/jobwait/jobwait/wire"
)

var noon = time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)

func at(seconds int) time.Time { return noon.Add(time.Duration(seconds) * time.Second) }

func planned(seconds, next int, source wire.DelaySource) wire.Entry {
	until := at(next)
	return wire.Entry{At: at(seconds), Event: wire.EventPollPlanned, NextPollAt: &until, DelaySource: source}
}

func answered(seconds int, answer wire.Answer, status int, state string, category wire.Category) wire.Entry {
	return wire.Entry{At: at(seconds), Event: wire.EventResponseReceived, Reason: string(answer), HTTPStatus: status, RawState: state, Category: category}
}

// story is one wait with an answer of each kind.
func story(t *testing.T) []wire.Entry {
	t.Helper()
	decision, err := json.Marshal(wire.Decision{Kind: wire.DecisionExtend, DecidedBy: "ana"})
	require.NoError(t, err)
	return []wire.Entry{
		{At: at(0), Event: wire.EventOpened},
		planned(0, 10, wire.DelayLocalBackoff),
		answered(10, wire.AnswerRead, 200, "queued", wire.CategoryPending), planned(10, 20, wire.DelayLocalBackoff),
		answered(20, wire.AnswerServerError, 503, "", ""), planned(20, 60, wire.DelayProviderRetryAfter),
		answered(60, wire.AnswerRateLimited, 429, "", ""), planned(60, 70, wire.DelayRateLimitBackoff),
		{At: at(70), Event: wire.EventRequestLost, Detail: "timeout"},
		planned(70, 80, wire.DelayLocalBackoff),
		answered(80, wire.AnswerRead, 200, "archiving", wire.CategoryUnknown),
		{At: at(80), Event: wire.EventEscalated, Reason: "unknown_state"},
		{At: at(4000), Event: wire.EventDecisionApplied, Reason: "extend", Decision: decision},
		planned(4000, 4010, wire.DelayManualExtension),
		{At: at(4005), Event: wire.EventNudged},
		planned(4005, 4008, wire.DelayNudge),
		answered(4008, wire.AnswerRead, 200, "succeeded", wire.CategorySuccess),
		{At: at(4008), Event: wire.EventClosed, Reason: "succeeded"},
	}
}

func TestDraw(t *testing.T) {
	t.Parallel()
	d := timeline.Draw(timeline.Input{Entries: story(t), Now: at(9000), DeadlineAt: at(100000)})
	var kinds []timeline.Kind
	for _, mark := range d.Marks {
		kinds = append(kinds, mark.Kind)
	}
	require.Equal(t, []timeline.Kind{
		timeline.KindPending, timeline.KindFailure, timeline.KindLimited, timeline.KindFailure, timeline.KindEnded, timeline.KindSuccess,
	}, kinds)
	require.Equal(t, "12:00:20 503 server_error", d.Marks[1].Title)
	require.Equal(t, "12:01:10 no answer: timeout", d.Marks[3].Title)
	require.Equal(t, "6 requests from 12:00:00 on: 1 pending, 1 success, 1 ended, 1 limited, 2 failure", d.Summary)
	require.Empty(t, d.Lines, "what lies behind the end of a closed wait is not drawn")
	require.Len(t, d.Asked, 1)
	require.Equal(t, "waited 1h05m for a decision: unknown_state", d.Asked[0].Title)
	require.Less(t, d.Asked[0].Width(), 0.4*846, "an hour of asking leaves room for a minute of requests")
	require.Equal(t, "decision extend by ana", d.People[1].Title[len("13:06:40 "):])
	require.Equal(t, "Retry-After", d.Delays[2].Label)
	require.Equal(t, "manual_extension from 13:06:40 to 13:06:45", d.Delays[5].Title, "a nudge took its place")
	require.Equal(t, []wire.DelaySource{
		wire.DelayLocalBackoff, wire.DelayProviderRetryAfter, wire.DelayRateLimitBackoff, wire.DelayManualExtension, wire.DelayNudge,
	}, d.Sources)
}

func TestWhatLiesAhead(t *testing.T) {
	t.Parallel()
	d := timeline.Draw(timeline.Input{
		Entries: story(t)[:6], Now: at(30), Open: true, DeadlineAt: at(3600), BusinessDeadlineAt: at(1800), NextPollAt: at(60), WindowEndsAt: at(90000),
	})
	var labels []string
	for i, line := range d.Lines {
		labels = append(labels, line.Label)
		if i > 0 {
			require.GreaterOrEqual(t, line.X, d.Lines[i-1].X)
		}
	}
	require.Equal(t, []string{
		"now 12:00:30", "next request 12:01:00 (in 30s)", "business deadline 12:30:00 (in 29m30s)", "deadline 13:00:00 (in 59m30s)",
		"answer before 13:00:00 (in 24h59m)",
	}, labels)
	require.Nil(t, timeline.Draw(timeline.Input{}))
}

// Whatever the times are, a drawing stays within its width, goes forwards, and does not grow with the number of requests.
func TestDrawIsBounded(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		var entries []wire.Entry
		now := 0
		for range rapid.IntRange(1, 400).Draw(rt, "steps") {
			now += rapid.SampledFrom([]int{0, 1, 5, 60, 3600, 86400, -1}).Draw(rt, "later")
			switch rapid.IntRange(0, 4).Draw(rt, "event") {
			case 0:
				entries = append(entries, planned(now, now+rapid.IntRange(-5, 100000).Draw(rt, "next"), wire.DelayLocalBackoff))
			case 1:
				entries = append(entries, wire.Entry{At: at(now), Event: wire.EventEscalated, Reason: "unknown_state"})
			case 2:
				entries = append(entries, wire.Entry{At: at(now), Event: wire.EventDecisionApplied})
			default:
				entries = append(entries, answered(now, wire.AnswerRead, 200, "running", wire.CategoryPending))
			}
		}
		d := timeline.Draw(timeline.Input{
			Entries: entries, Now: at(now + rapid.IntRange(-10, 100000).Draw(rt, "now")), Open: rapid.Bool().Draw(rt, "open"),
			DeadlineAt: at(rapid.IntRange(-100, 1<<30).Draw(rt, "deadline")),
		})
		within := func(what string, xs ...float64) {
			for _, x := range xs {
				if math.IsNaN(x) || x < 14 || x > 846 {
					rt.Fatalf("%s at %v", what, x)
				}
			}
		}
		for _, mark := range d.Marks {
			within("mark", mark.X)
		}
		for _, delay := range d.Delays {
			within("delay", delay.X1, delay.X2)
			require.GreaterOrEqual(rt, delay.X2, delay.X1)
		}
		for _, span := range d.Asked {
			within("span", span.X1, span.X2)
		}
		for _, line := range d.Lines {
			within("line", line.X)
		}
		require.LessOrEqual(rt, len(d.Ticks), 14)
	})
}

func TestManyRequestsAreFewMarks(t *testing.T) {
	t.Parallel()
	var entries []wire.Entry
	for i := range 5000 {
		entries = append(entries, answered(i*7, wire.AnswerRead, 200, "running", wire.CategoryPending), planned(i*7, i*7+7, wire.DelayLocalBackoff))
	}
	d := timeline.Draw(timeline.Input{Entries: entries, Now: at(35000)})
	require.LessOrEqual(t, len(d.Marks), 130)
	require.Empty(t, d.Delays, fmt.Sprint(len(d.Delays)))
	total := 0
	for _, mark := range d.Marks {
		total += mark.Count
	}
	require.Equal(t, 5000, total)
}
