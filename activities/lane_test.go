package activities

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"

	"github.com/jobwait/jobwait/wire"
)

// colleagues are the activities of one worker, run again and again.
type colleagues struct {
	*world
	acts *Activities
}

func newColleagues(t *testing.T, handler http.HandlerFunc, origins Origins) *colleagues {
	t.Helper()
	c := &colleagues{world: newWorld(t, handler)}
	c.options.Origins = origins
	var err error
	c.acts, err = New(c.options)
	require.NoError(t, err)
	return c
}

// execute runs one attempt of an activity; it is always the first one, the test environment knows no other.
func (c *colleagues) execute(name string, request, result any) error {
	suite := testsuite.WorkflowTestSuite{}
	suite.SetLogger(quiet{})
	environment := suite.NewTestActivityEnvironment()
	environment.SetTestTimeout(time.Minute)
	c.acts.Register(environment)
	value, err := environment.ExecuteActivity(name, request)
	if err != nil {
		return err
	}
	return value.Get(result)
}

func (c *colleagues) ask(change func(*wire.PollRequest)) (wire.PollResult, error) {
	request := wire.PollRequest{
		Target: c.target(), NotAfter: time.Now().Add(time.Hour), TimeoutSeconds: 5, MayHoldBack: true,
		Reading: wire.ReadingContext{SubmittedAt: time.Now().Add(-time.Hour)},
	}
	if change != nil {
		change(&request)
	}
	var result wire.PollResult
	return result, c.execute(wire.ActivityPollStatus, request, &result)
}

// heldFor is the delay of the error that brings a held-back request back.
func heldFor(t *testing.T, err error) time.Duration {
	t.Helper()
	var held *temporal.ApplicationError
	require.ErrorAs(t, err, &held)
	require.Equal(t, wire.ErrorHeldBack, held.Type())
	require.False(t, held.NonRetryable())
	require.Equal(t, temporal.ApplicationErrorCategoryBenign, held.Category(), "an operator is shown an error")
	return held.NextRetryDelay()
}

// R2, R16: a 429 that one request was answered keeps the next one from being sent; nothing of it reaches the provider.
func TestARequestIsHeldBackByAnothersAnswer(t *testing.T) {
	t.Parallel()
	c := newColleagues(t, answers(429, "", "Retry-After", "60"), Origins{})
	result, err := c.ask(nil)
	require.NoError(t, err)
	require.Equal(t, wire.AnswerRateLimited, result.Observation.Answer)
	_, err = c.ask(nil)
	require.InDelta(t, 59, heldFor(t, err).Seconds(), 1)
	require.ErrorContains(t, err, "by a 429 of "+c.URL+", nothing sent")
	require.Len(t, c.saw(), 1)
	require.Contains(t, c.log.String(), `"msg":"requests are held back"`)
}

// Which answers hold others back. A Retry-After beside a good answer speaks of one job.
func TestWhatHoldsBack(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		handler http.HandlerFunc
		origins Origins
		want    float64 // seconds; 0: nobody is held back
	}{
		"429 without Retry-After": {handler: answers(429, ""), want: 4},
		"503 with Retry-After":    {handler: answers(503, "", "Retry-After", "30"), want: 29},
		"503 without":             {handler: answers(503, "")},
		"500 with":                {handler: answers(500, "", "Retry-After", "30")},
		"a good answer with":      {handler: answers(200, running, "Retry-After", "30")},
		"longer than allowed": {
			handler: answers(429, "", "Retry-After", "9999999999"), origins: Origins{Default: OriginLimits{MaxHoldSeconds: new(20)}}, want: 19,
		},
		"not wanted": {handler: answers(429, "", "Retry-After", "30"), origins: Origins{Default: OriginLimits{MaxHoldSeconds: new(0)}}},
		"another origin's limits": {
			handler: answers(429, "", "Retry-After", "30"),
			origins: Origins{Origins: map[string]OriginLimits{"https://example.com": {MaxHoldSeconds: new(0)}}}, want: 29,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newColleagues(t, test.handler, test.origins)
			_, err := c.ask(nil)
			require.NoError(t, err)
			_, err = c.ask(nil)
			if test.want == 0 {
				require.NoError(t, err)
				require.Len(t, c.saw(), 2)
				return
			}
			require.InDelta(t, test.want, heldFor(t, err).Seconds(), 1)
			require.Len(t, c.saw(), 1)
		})
	}
}

// A request of a wait from before requests could be held back passes, and feeds the lane.
func TestOldRequestsAreNeverHeldBack(t *testing.T) {
	t.Parallel()
	c := newColleagues(t, answers(429, "", "Retry-After", "60"), Origins{})
	old := func(request *wire.PollRequest) { request.MayHoldBack = false }
	for range 2 {
		_, err := c.ask(old)
		require.NoError(t, err)
	}
	require.Len(t, c.saw(), 2)
	_, err := c.ask(nil)
	heldFor(t, err)
	var cancelled wire.CancelResult
	require.NoError(t, c.execute(wire.ActivityCancelAtProvider, wire.CancelRequest{Target: c.target(), TimeoutSeconds: 5}, &cancelled))
	require.Equal(t, 429, cancelled.HTTPStatus)
}

// R19: what a hold leaves no time for is answered at once, with the time that the provider asked for.
func TestAHoldPastNotAfterIsTheResult(t *testing.T) {
	t.Parallel()
	c := newColleagues(t, answers(503, "", "Retry-After", "600"), Origins{})
	_, err := c.ask(nil)
	require.NoError(t, err)
	result, err := c.ask(func(request *wire.PollRequest) { request.NotAfter = time.Now().Add(5 * time.Minute) })
	require.NoError(t, err)
	require.Equal(t, wire.NotSentHeldBack, result.NotSent)
	require.WithinDuration(t, time.Now().Add(10*time.Minute), *result.HeldUntil, 5*time.Second)
	require.Equal(t, "unavailable until "+result.HeldUntil.Format(time.RFC3339), result.Detail)
	require.Len(t, c.saw(), 1)
}

// R19: what a 429 without Retry-After leaves no time for is too late: the provider has asked for no time.
func TestAHoldThatNobodyAskedForIsTooLate(t *testing.T) {
	t.Parallel()
	c := newColleagues(t, answers(429, ""), Origins{})
	_, err := c.ask(nil)
	require.NoError(t, err)
	result, err := c.ask(func(request *wire.PollRequest) { request.NotAfter = time.Now().Add(3 * time.Second) })
	require.NoError(t, err)
	require.Equal(t, wire.NotSentTooLate, result.NotSent)
	require.Nil(t, result.HeldUntil)
	require.Contains(t, result.Detail, "by a 429 of "+c.URL)
	require.Len(t, c.saw(), 1)
}

// What our own rate leaves no time for is too late, and says nothing of the provider.
func TestARateThatLeavesNoTime(t *testing.T) {
	t.Parallel()
	c := newColleagues(t, answers(200, running), Origins{Default: OriginLimits{RequestsPerSecond: new(0.01)}})
	_, err := c.ask(nil)
	require.NoError(t, err)
	_, err = c.ask(nil)
	require.ErrorContains(t, err, "by the rate for "+c.URL)
	result, err := c.ask(func(request *wire.PollRequest) { request.NotAfter = time.Now().Add(time.Minute) })
	require.NoError(t, err)
	require.Equal(t, wire.NotSentTooLate, result.NotSent)
	require.Nil(t, result.HeldUntil)
	require.Len(t, c.saw(), 1)
}

// R43: a cancel is held back as long as there is time to see it confirmed, and without a bound not at all.
func TestACancelIsHeldBackToo(t *testing.T) {
	t.Parallel()
	c := newColleagues(t, answers(429, "", "Retry-After", "60"), Origins{})
	_, err := c.ask(nil)
	require.NoError(t, err)
	request := wire.CancelRequest{Target: c.target(), TimeoutSeconds: 5, HoldBackBefore: time.Now().Add(2 * time.Minute)}
	var result wire.CancelResult
	heldFor(t, c.execute(wire.ActivityCancelAtProvider, request, &result))
	request.HoldBackBefore = time.Now().Add(30 * time.Second)
	require.NoError(t, c.execute(wire.ActivityCancelAtProvider, request, &result))
	require.Equal(t, wire.NotSentHeldBack, result.NotSent)
	require.Len(t, c.saw(), 1)
}

// Requests that meet within a second wait for each other in the worker.
func TestARateSpacesRequestsInTheWorker(t *testing.T) {
	t.Parallel()
	c := newColleagues(t, answers(200, running), Origins{Default: OriginLimits{RequestsPerSecond: new(4.0)}})
	began := time.Now()
	for range 4 {
		result, err := c.ask(nil)
		require.NoError(t, err)
		require.Nil(t, result.HeldBack, "a moment in the worker is nothing that the audit needs to know")
	}
	require.GreaterOrEqual(t, time.Since(began), 700*time.Millisecond)
}
