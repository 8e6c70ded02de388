package web

import (
	"crypto/rand"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A form lasts for a day, for its person and its wait.
func TestFormsExpire(t *testing.T) {
	t.Parallel()
	f, shown := newForms(rand.Reader), time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)
	sealed := f.seal(slip{Person: "ana", WorkflowID: "jobwait/p/a/j", EscalationID: "e#1", ShownAt: shown})
	got, err := f.open(sealed, "ana", "jobwait/p/a/j", shown.Add(formLife))
	require.NoError(t, err)
	require.Equal(t, "e#1", got.EscalationID)
	_, err = f.open(sealed, "ana", "jobwait/p/a/j", shown.Add(formLife+1))
	require.ErrorIs(t, err, errExpired)
	_, err = f.open(sealed, "ben", "jobwait/p/a/j", shown)
	require.ErrorIs(t, err, errForged)
	_, err = f.open(sealed, "ana", "jobwait/p/a/k", shown)
	require.ErrorIs(t, err, errForged)
}
