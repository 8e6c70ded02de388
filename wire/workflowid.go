package wire

import (
	"strconv"
	"strings"
)

// MaxWorkflowIDBytes is the longest workflow id that a Temporal server accepts by default.
const MaxWorkflowIDBytes = 1000

// WorkflowIDPrefix is the prefix of the workflow ids of waits; no other workflow of jobwait has it.
const WorkflowIDPrefix = "jobwait/"

// WorkflowID returns the workflow id of the wait for a job, which makes that workflow the job's single owner:
// jobwait/<provider>/<account>/<provider_job_id>, each part escaped by EscapeSegment.
func WorkflowID(provider, account, providerJobID string) string {
	return WorkflowIDPrefix + EscapeSegment(provider) + "/" + EscapeSegment(account) + "/" + EscapeSegment(providerJobID)
}

// FetchWorkflowID returns the workflow id of the fetch of a result:
// jobwait-fetch/<provider>/<account>/<provider_job_id>/<result_name>, each part escaped by EscapeSegment.
func FetchWorkflowID(spec FetchSpec) string {
	job := strings.TrimPrefix(WorkflowID(spec.Provider, spec.Account, spec.ProviderJobID), WorkflowIDPrefix)
	return "jobwait-fetch/" + job + "/" + EscapeSegment(spec.ResultName)
}

// SubmitWorkflowIDPrefix is the prefix of the workflow ids of submissions; no other workflow of jobwait has it.
const SubmitWorkflowIDPrefix = "jobwait-submit/"

// SubmitWorkflowID returns the one workflow id of submitting something: jobwait-submit/<provider>/<account>/<submission_id>, each
// part escaped by EscapeSegment.
func SubmitWorkflowID(provider, account, submissionID string) string {
	return SubmitWorkflowIDPrefix + EscapeSegment(provider) + "/" + EscapeSegment(account) + "/" + EscapeSegment(submissionID)
}

// maxSuccession is the highest number that SuccessorID counts on from.
const maxSuccession = 999_999_999

// SuccessorID returns the one submission_id of the operation that takes the place of an ended one. What ends in "~" and a whole number
// of 2 to 999,999,999, written without a zero before it, gets the next number, anything else "~2": "report", "report~2", "report~3".
// No two ids have the same successor.
func SuccessorID(submissionID string) string {
	if at := strings.LastIndexByte(submissionID, '~'); at >= 0 {
		digits := submissionID[at+1:]
		n, err := strconv.Atoi(digits)
		if err == nil && 2 <= n && n <= maxSuccession && strconv.Itoa(n) == digits {
			return submissionID[:at+1] + strconv.Itoa(n+1)
		}
	}
	return submissionID + "~2"
}

// EscapeSegment escapes every byte outside A-Z a-z 0-9 - . _ ~ as %XX, so that the text is a single path segment.
func EscapeSegment(text string) string {
	const hex = "0123456789ABCDEF"
	var out strings.Builder
	for i := range len(text) {
		if c := text[i]; unreserved(c) {
			out.WriteByte(c)
		} else {
			out.Write([]byte{'%', hex[c>>4], hex[c&15]})
		}
	}
	return out.String()
}

func unreserved(c byte) bool {
	switch {
	case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9':
		return true
	default:
		return c == '-' || c == '.' || c == '_' || c == '~'
	}
}
