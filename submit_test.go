package jobwait_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jobwait/jobwait"
	"github.com/jobwait/jobwait/wire"
)

func submitted() (wire.SubmitSpec, wire.SubmitOutcome) {
	opened := time.Date(2026, 11, 30, 10, 0, 0, 0, time.UTC)
	spec := wire.SubmitSpec{
		SubmissionID: "report-2026-11", Provider: "demo-export", Account: "acct-42", CredentialRef: "demo", Body: []byte(`{"report": "2026-11"}`),
		SubmitBy: new(opened.Add(time.Minute)),
		Wait: wire.SubmitWait{
			DeadlineAt: opened.Add(time.Hour), BusinessDeadlineAt: new(opened.Add(2 * time.Hour)), ProviderExpiresAt: new(opened.Add(3 * time.Hour)),
			MaxStatusRequests: 60, MaxTransportFailures: 5,
		},
	}
	return spec, wire.SubmitOutcome{
		SubmissionID: spec.SubmissionID, Provider: spec.Provider, Account: spec.Account, OpenedAt: opened,
		Status: wire.StatusFailed, Reason: wire.ReasonProviderFailure, ProviderJobID: "exp_71c",
	}
}

// R57: a successor submits the same, and has as much time for everything as its predecessor had.
func TestSuccessorSpec(t *testing.T) {
	t.Parallel()
	spec, ended := submitted()
	now := ended.OpenedAt.Add(26 * time.Hour)
	successor, err := jobwait.SuccessorSpec(spec, ended, "ana@example.com", "the disk has room again", now)
	require.NoError(t, err)
	want := spec
	want.SubmissionID = "report-2026-11~2"
	want.Predecessor = &wire.Predecessor{SubmissionID: "report-2026-11", DecidedBy: "ana@example.com", Comment: "the disk has room again"}
	want.SubmitBy = new(now.Add(time.Minute))
	want.Wait.DeadlineAt = now.Add(time.Hour)
	want.Wait.BusinessDeadlineAt, want.Wait.ProviderExpiresAt = new(now.Add(2*time.Hour)), new(now.Add(3*time.Hour))
	require.Equal(t, want, successor)
	unchanged, _ := submitted()
	require.Equal(t, unchanged, spec, "the spec that was given has changed")

	ended.SubmissionID, ended.OpenedAt = successor.SubmissionID, now
	third, err := jobwait.SuccessorSpec(successor, ended, "bob@example.com", "and again", now.Add(time.Hour))
	require.NoError(t, err)
	require.Equal(t, "report-2026-11~3", third.SubmissionID)
	require.Equal(t, &wire.Predecessor{SubmissionID: "report-2026-11~2", DecidedBy: "bob@example.com", Comment: "and again"}, third.Predecessor)
}

// R57: a spec that means never means it again, in a time that JSON can carry.
func TestSuccessorSpecThatNeverEnds(t *testing.T) {
	t.Parallel()
	spec, ended := submitted()
	never := time.Date(9999, time.December, 31, 23, 59, 59, 0, time.UTC)
	spec.SubmitBy, spec.Wait.DeadlineAt, spec.Wait.ProviderExpiresAt = new(never), never, new(never.Add(-time.Hour))
	successor, err := jobwait.SuccessorSpec(spec, ended, "ana@example.com", "why", ended.OpenedAt.Add(26*time.Hour))
	require.NoError(t, err)
	require.Equal(t, []time.Time{never, never, never}, []time.Time{*successor.SubmitBy, successor.Wait.DeadlineAt, *successor.Wait.ProviderExpiresAt})
	_, err = json.Marshal(successor)
	require.NoError(t, err)
}

// R57: what the workflow would refuse is refused before it is started.
func TestSuccessorSpecIsRefused(t *testing.T) {
	t.Parallel()
	for want, change := range map[string]func(*wire.SubmitSpec, *wire.SubmitOutcome){
		`spec: predecessor "report-2026-11" has succeeded; its result is in its outcome`: func(_ *wire.SubmitSpec, o *wire.SubmitOutcome) { o.Status = wire.StatusSucceeded },
		`spec: predecessor "report-2026-11" did not own its job, which is that of "jobwait/p/a/1"; if another job is wanted, submit it under a submission_id of its own, without predecessor`: func(_ *wire.SubmitSpec, o *wire.SubmitOutcome) {
			o.Owner = &wire.Owner{WorkflowID: "jobwait/p/a/1"}
		},
		`the outcome is that of submission "report-2026-10" to "demo-export", account "acct-42", the spec that of "report-2026-11" to "demo-export", account "acct-42"`: func(_ *wire.SubmitSpec, o *wire.SubmitOutcome) {
			o.SubmissionID = "report-2026-10"
		},
		"spec: submit_by 2026-12-01T11:00:00Z is not after the start 2026-12-01T12:00:00Z": func(s *wire.SubmitSpec, o *wire.SubmitOutcome) {
			s.SubmitBy = new(o.OpenedAt.Add(-time.Hour))
		},
	} {
		spec, ended := submitted()
		change(&spec, &ended)
		_, err := jobwait.SuccessorSpec(spec, ended, "ana@example.com", "why", ended.OpenedAt.Add(26*time.Hour))
		require.EqualError(t, err, want)
	}
	spec, ended := submitted()
	_, err := jobwait.SuccessorSpec(spec, ended, "", "why", ended.OpenedAt)
	require.EqualError(t, err, "spec: predecessor.decided_by is missing, set it to 1 to 256 characters")
}

// Submit once more what has failed, on a person's word, from any Go program.
func ExampleSuccessorSpec() {
	spec, ended := submitted() // what was submitted, and the outcome: run.Get(ctx, &ended)
	now := time.Date(2026, 11, 30, 14, 0, 0, 0, time.UTC)
	successor, err := jobwait.SuccessorSpec(spec, ended, "ana@example.com", "the disk has room again", now)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(successor.SubmissionID, "in place of", successor.Predecessor.SubmissionID)
	fmt.Println("until", successor.Wait.DeadlineAt.Format(time.RFC3339))
	// jobwait.StartSubmit(ctx, c, successor, jobwait.StartOptions{}) starts it.

	// Output:
	// report-2026-11~2 in place of report-2026-11
	// until 2026-11-30T15:00:00Z
}
