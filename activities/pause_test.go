package activities

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/testsuite"
)

// Whoever pauses leaves when its worker stops, for another worker to take it up.
func TestPauseEndsWithItsWorker(t *testing.T) {
	t.Parallel()
	suite := testsuite.WorkflowTestSuite{}
	suite.SetLogger(quiet{})
	environment := suite.NewTestActivityEnvironment()
	stopping := make(chan struct{})
	close(stopping)
	environment.SetWorkerStopChannel(stopping)
	pausing := func(ctx context.Context) error { return pause(ctx, time.Hour) }
	environment.RegisterActivity(pausing)
	_, err := environment.ExecuteActivity(pausing)
	require.ErrorContains(t, err, "the worker stops")
}

// A heart beats again and again.
func TestBeat(t *testing.T) {
	t.Parallel()
	beats := make(chan struct{}, 2)
	defer beat(t.Context(), time.Millisecond, func() {
		select {
		case beats <- struct{}{}:
		default:
		}
	})()
	<-beats
	<-beats
}
