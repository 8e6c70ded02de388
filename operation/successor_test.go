package operation_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jobwait/jobwait/operation"
	"github.com/jobwait/jobwait/wire"
)

func predecessor() *wire.Predecessor {
	return &wire.Predecessor{SubmissionID: "report-2026-11", DecidedBy: "ana@example.com", Comment: "the disk\nhas room <again>"}
}

func succeeds(s *wire.SubmitSpec) {
	s.SubmissionID, s.Predecessor = "report-2026-11~2", predecessor()
}

// R57: a successor has the one id that its predecessor's gives, and says who decided it and why.
func TestSpecOfASuccessor(t *testing.T) {
	t.Parallel()
	require.NoError(t, operation.CheckSubmission(submitSpec(succeeds), start))
	for want, change := range map[string]func(*wire.SubmitSpec){
		`submission_id is "report-2026-11", in place of "report-2026-11" it must be "report-2026-11~2"`:   func(s *wire.SubmitSpec) { s.SubmissionID = "report-2026-11" },
		`submission_id is "report-2026-11~3", in place of "report-2026-11" it must be "report-2026-11~2"`: func(s *wire.SubmitSpec) { s.SubmissionID = "report-2026-11~3" },
		"predecessor.submission_id is missing, set it to 1 to 256 characters":                             func(s *wire.SubmitSpec) { s.Predecessor.SubmissionID = "" },
		"predecessor.submission_id gives a submission_id of 257 characters, at most 256 are allowed; submit it under a shorter one, without predecessor": func(s *wire.SubmitSpec) {
			s.Predecessor.SubmissionID = strings.Repeat("ä", 255)
		},
		"predecessor.decided_by is missing, set it to 1 to 256 characters":           func(s *wire.SubmitSpec) { s.Predecessor.DecidedBy = "" },
		`predecessor.decided_by "ana\nbob" has control characters or is not UTF-8`:   func(s *wire.SubmitSpec) { s.Predecessor.DecidedBy = "ana\nbob" },
		"predecessor needs submission_id, decided_by and comment":                    func(s *wire.SubmitSpec) { s.Predecessor.Comment = " " },
		"predecessor.comment has 4097 characters, at most 4096 are allowed":          func(s *wire.SubmitSpec) { s.Predecessor.Comment = strings.Repeat("ä", 4097) },
		"predecessor.decided_by has 257 characters, at most 256 are allowed":         func(s *wire.SubmitSpec) { s.Predecessor.DecidedBy = strings.Repeat("a", 257) },
		"submit_by 2025-04-18T10:20:00Z is not after the start 2025-04-18T10:20:00Z": func(s *wire.SubmitSpec) { s.SubmitBy = new(start) },
	} {
		err := operation.CheckSubmission(submitSpec(succeeds, change), start)
		require.EqualError(t, err, "spec: "+want)
		require.ErrorAs(t, err, new(*operation.SpecError))
	}
}

// R57: the first entry of a successor's audit, its view, what it asks people, and its outcome name what it replaces.
func TestSuccessorNamesItsPredecessor(t *testing.T) {
	t.Parallel()
	prepared, err := operation.PrepareSubmission(submitSpec(succeeds), start, operation.Knowledge{}, wire.SubmissionFacts{Idempotency: wire.IdempotencyNone})
	require.NoError(t, err)
	replaced := wire.Replaced{
		Predecessor: *predecessor(), RunID: "run-1", Status: wire.StatusFailed, Reason: wire.ReasonProviderFailure, ProviderJobID: "exp_70",
	}
	prepared.Submission.Predecessor = &replaced
	op := operation.Open(prepared, firstRun, start, start)

	opened := op.Audit().Entries[0]
	require.Equal(t, wire.EventOpened, opened.Event)
	require.Equal(t, "report-2026-11", opened.Reason)
	require.Equal(t, "failed: provider_failure; job exp_70", opened.Detail)
	require.JSONEq(t, `{"comment":"the disk\nhas room <again>","decided_by":"ana@example.com","submission_id":"report-2026-11"}`, string(opened.Decision))
	canonical, err := wire.Canonical(opened.Decision)
	require.NoError(t, err)
	require.Equal(t, string(canonical), string(opened.Decision))
	require.Equal(t, "10:20:00 opened in place of report-2026-11 (failed: provider_failure; job exp_70), decided by ana@example.com, up to 3 requests until 2025-04-18T11:00:00Z",
		operation.Story(opened))
	require.Zero(t, operation.VerifyChain("", op.Audit().Entries))
	require.Equal(t, &replaced, op.View(start).Submission.Predecessor)

	_, at := nextSubmit(t, op, start)
	op.SubmitAnswered(at, submitResult(wire.SubmitAmbiguous, 503))
	op.Next(at)
	require.Contains(t, operation.Message(op.Briefing(at)),
		"\nin place of: report-2026-11 (failed: provider_failure; job exp_70), decided by ana@example.com: the disk has room <again>\n")
	require.Equal(t, &replaced, op.SubmitOutcome(wire.Outcome{}).Predecessor)
}

// A reset of a successor does not depend on what the server still knows of its predecessor; who was told to stop has not asked.
func TestSuccessorThatDidNotAsk(t *testing.T) {
	t.Parallel()
	op := submission(t, wire.IdempotencyHeader, succeeds)
	require.Equal(t, "10:20:00 opened in place of report-2026-11, decided by ana@example.com, up to 3 requests until 2025-04-18T11:00:00Z",
		operation.Story(op.Audit().Entries[0]))
	outcome := operation.NeverSubmitted(submitSpec(succeeds), start, start.Add(time.Second))
	require.Equal(t, &wire.Replaced{Predecessor: *predecessor()}, outcome.Predecessor)
	require.Nil(t, operation.NeverSubmitted(submitSpec(), start, start).Predecessor)
}

// R57: whoever is told of the end is told how it is submitted again, where it may be.
func TestTheEndSaysHowItIsSubmittedAgain(t *testing.T) {
	t.Parallel()
	const line = "\nsubmit again: jobwait resubmit jobwait-submit/demo-export/acct-42/report%2F1 --comment WHY, as a new operation\n"
	ended := func(status wire.OutcomeStatus, submission *wire.SubmissionView) string {
		return operation.Message(wire.Briefing{
			OperationID: "report/1", Provider: "demo-export", Account: "acct-42",
			Outcome: &wire.Outcome{Status: status}, Submission: submission,
		}) + "\n"
	}
	for _, status := range []wire.OutcomeStatus{wire.StatusFailed, wire.StatusExpired, wire.StatusCancelled, wire.StatusUnresolved, wire.StatusRefused} {
		require.Contains(t, ended(status, &wire.SubmissionView{}), line)
	}
	for name, text := range map[string]string{
		"a success":     ended(wire.StatusSucceeded, &wire.SubmissionView{}),
		"another's job": ended(wire.StatusFailed, &wire.SubmissionView{Owner: &wire.Owner{WorkflowID: "another"}}),
		"a wait":        ended(wire.StatusFailed, nil),
		"a question":    operation.Message(wire.Briefing{Submission: &wire.SubmissionView{}}),
	} {
		require.NotContains(t, text, "submit again", name)
	}
}
