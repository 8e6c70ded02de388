package activities

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"

	"github.com/jobwait/jobwait/wire"
)

// R48: a request that is under way is awaited, whoever takes it back: servers may tell a worker at once that an activity is
// cancelled, and what was sent is not taken back by hanging up.
func TestARequestUnderWayIsNotTakenBack(t *testing.T) {
	t.Parallel()
	ctx, takeBack := context.WithCancel(t.Context())
	defer takeBack()
	w := newWorld(t, func(w http.ResponseWriter, r *http.Request) {
		takeBack()
		time.Sleep(200 * time.Millisecond)
		answers(200, running)(w, r)
	})
	activities, err := New(w.options)
	require.NoError(t, err)
	suite := testsuite.WorkflowTestSuite{}
	suite.SetLogger(quiet{})
	environment := suite.NewTestActivityEnvironment()
	environment.SetWorkerOptions(worker.Options{BackgroundActivityContext: ctx})
	activities.Register(environment)
	value, err := environment.ExecuteActivity(wire.ActivityPollStatus, wire.PollRequest{
		Target: w.target(), NotAfter: time.Now().Add(time.Hour), TimeoutSeconds: 5, MayHoldBack: true,
		Reading: wire.ReadingContext{SubmittedAt: time.Now().Add(-time.Hour)},
	})
	require.NoError(t, err)
	var result wire.PollResult
	require.NoError(t, value.Get(&result))
	require.Equal(t, wire.AnswerRead, result.Observation.Answer)
	require.Len(t, w.saw(), 1)
}
