package operation

import (
	"cmp"
	"time"
	"unicode/utf8"

	"github.com/jobwait/jobwait/wire"
)

// checkPredecessor validates what a spec says of the operation in whose place it submits, as far as the spec tells it.
func checkPredecessor(spec wire.SubmitSpec) error {
	p := spec.Predecessor
	if p == nil {
		return nil
	}
	why := cmp.Or(
		badID(namedID{"predecessor.submission_id", p.SubmissionID}, namedID{"predecessor.decided_by", p.DecidedBy}),
		tooLong(givenText{"predecessor.comment", p.Comment, wire.MaxCommentChars}),
	)
	id := wire.SuccessorID(p.SubmissionID)
	switch n := utf8.RuneCountInString(id); {
	case why != "":
		return &SpecError{Problem: why}
	case blank(p.DecidedBy) || blank(p.Comment):
		return specError("predecessor needs submission_id, decided_by and comment")
	case n > wire.MaxIDChars:
		return specError("predecessor.submission_id gives a submission_id of %d characters, at most %d are allowed; submit it under a shorter one, without predecessor", n, wire.MaxIDChars)
	case spec.SubmissionID != id:
		return specError("submission_id is %q, in place of %q it must be %q", bounded(spec.SubmissionID, wire.MaxIDChars), p.SubmissionID, id)
	default:
		return nil
	}
}

// CheckReplaceable returns a *SpecError if an operation with this outcome may not be submitted again as a new one. It is nil if a
// person may decide that. If the outcome is unresolved there may be a job already, and the new operation may make a second one.
func CheckReplaceable(ended wire.SubmitOutcome) error {
	switch ended.Status {
	case wire.StatusFailed, wire.StatusCancelled, wire.StatusExpired, wire.StatusUnresolved, wire.StatusRefused:
	case wire.StatusSucceeded:
		return specError("predecessor %q has succeeded; its result is in its outcome", ended.SubmissionID)
	default: // a word from another version
		return specError("predecessor %q has ended %q, which this version does not know", ended.SubmissionID, bounded(string(ended.Status), wire.MaxIDChars))
	}
	if ended.Owner != nil {
		return specError("predecessor %q did not own its job, which is that of %q; if another job is wanted, submit it under a submission_id of its own, without predecessor",
			ended.SubmissionID, ended.Owner.WorkflowID)
	}
	return nil
}

// replaceable reports whether a briefing is that of an operation that has ended, and that CheckReplaceable has no objection to.
func replaceable(b wire.Briefing) bool {
	return b.Outcome != nil && b.Submission != nil && CheckReplaceable(wire.SubmitOutcome{Status: b.Outcome.Status, Owner: b.Submission.Owner}) == nil
}

// AgainText says how an ended submission is submitted again, with its workflow id.
func AgainText(workflowID string) string {
	return "jobwait resubmit " + workflowID + " --comment WHY, as a new operation"
}

// unasked returns the predecessor of a spec before the server was asked how it ended.
func unasked(p *wire.Predecessor) *wire.Replaced {
	if p == nil {
		return nil
	}
	return &wire.Replaced{Predecessor: *p}
}

// ReplacedText returns a predecessor in words: "report-2026-11 (failed: provider_failure; job exp_71c), decided by ana: disk was
// full".
func ReplacedText(r wire.Replaced) string {
	return r.SubmissionID + inParentheses(replacedEnd(r)) + ", decided by " + r.DecidedBy + ": " + oneLine(r.Comment)
}

// replacedEnd returns how a predecessor ended, in words; empty if that is not known.
func replacedEnd(r wire.Replaced) string {
	if r.Status == "" {
		return ""
	}
	end := closedReason(wire.Outcome{Status: r.Status, Reason: r.Reason})
	if r.ProviderJobID != "" {
		end += "; job " + r.ProviderJobID
	}
	return end
}

func inParentheses(text string) string {
	if text == "" {
		return ""
	}
	return " (" + text + ")"
}

// opening returns the first entry of the audit. That of a successor contains its predecessor, how that ended, and as the decision
// who replaced it and why.
func (o *Operation) opening(now time.Time) wire.Entry {
	entry := wire.Entry{At: now, Event: wire.EventOpened}
	if o.submits() && o.rec.Prepared.Submission.Predecessor != nil {
		replaced := *o.rec.Prepared.Submission.Predecessor
		entry.Reason, entry.Detail, entry.Decision = replaced.SubmissionID, replacedEnd(replaced), canonicalPredecessor(replaced.Predecessor)
	}
	return entry
}

// canonicalPredecessor returns the canonical JSON (RFC 8785) of a predecessor.
func canonicalPredecessor(p wire.Predecessor) []byte {
	text := wire.AppendText([]byte(`{"comment":`), p.Comment)
	text = wire.AppendText(append(text, `,"decided_by":`...), p.DecidedBy)
	return append(wire.AppendText(append(text, `,"submission_id":`...), p.SubmissionID), '}')
}

// inPlaceOf returns the part of an opening entry's text about the predecessor; empty if there is none.
func inPlaceOf(e wire.Entry) string {
	var p wire.Predecessor
	if e.Reason == "" || wire.DecodeOwn(e.Decision, &p) != nil {
		return ""
	}
	return " in place of " + e.Reason + inParentheses(e.Detail) + ", decided by " + p.DecidedBy
}
