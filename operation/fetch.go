package operation

import (
	"encoding/hex"
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/jobwait/jobwait/wire"
)

// DefaultFetchAttempts is how many attempts a fetch has whose spec sets no max_attempts.
const DefaultFetchAttempts = 5

// MaxURLBytes bounds a result's URL in the spec of a fetch, and a job's status URL in a decision.
const MaxURLBytes = 4096

const (
	maxFetchAttempts = 100
	maxFetchKeyChars = 512
)

func fetchError(format string, args ...any) error { return fmt.Errorf("fetch: "+format, args...) }

// CheckFetch validates the spec of a fetch that starts at the given time. The error names the field, the rule it breaks and what
// to do about it, and never repeats the URL.
func CheckFetch(spec wire.FetchSpec, startedAt time.Time) error {
	if why := badID(
		namedID{"operation_id", spec.OperationID},
		namedID{"provider", spec.Provider},
		namedID{"account", spec.Account},
		namedID{"provider_job_id", spec.ProviderJobID},
		namedID{"result_name", spec.ResultName},
		namedID{"destination", spec.Destination},
	); why != "" {
		return fetchError("%s", why)
	}
	if id := wire.FetchWorkflowID(spec); len(id) > wire.MaxWorkflowIDBytes {
		return fetchError("provider, account, provider_job_id and result_name give a workflow id of %d bytes, at most %d are allowed", len(id), wire.MaxWorkflowIDBytes)
	}
	if err := checkFetchBounds(spec, startedAt); err != nil {
		return err
	}
	return checkFetchKey(spec.Key)
}

func checkFetchBounds(spec wire.FetchSpec, startedAt time.Time) error {
	digest, err := hex.DecodeString(spec.ExpectedSHA256)
	switch {
	case spec.URL == "":
		return fetchError("url is missing, set it to the reference that the outcome has as %q", spec.ResultName)
	case len(spec.URL) > MaxURLBytes:
		return fetchError("url has %d bytes, at most %d are allowed", len(spec.URL), MaxURLBytes)
	case spec.MaxBytes < 1:
		return fetchError("max_bytes is %d, set it to the largest result that you want to take", spec.MaxBytes)
	case spec.ExpectedBytes != nil && (*spec.ExpectedBytes < 0 || *spec.ExpectedBytes > spec.MaxBytes):
		return fetchError("expected_bytes is %d, allowed is 0 to max_bytes, %d", *spec.ExpectedBytes, spec.MaxBytes)
	case spec.ExpectedSHA256 != "" && (err != nil || len(digest) != 32 || strings.ToLower(spec.ExpectedSHA256) != spec.ExpectedSHA256):
		return fetchError("expected_sha256 %q is not 64 lower-case hex digits", bounded(spec.ExpectedSHA256, 80))
	case spec.DeadlineAt.IsZero():
		return fetchError("deadline_at is missing, set it to until when the result is tried for")
	case !spec.DeadlineAt.After(startedAt):
		return fetchError("deadline_at %s is not after the start %s", timestamp(spec.DeadlineAt), timestamp(startedAt))
	case spec.MaxAttempts < 0 || spec.MaxAttempts > maxFetchAttempts:
		return fetchError("max_attempts is %d, allowed is 1 to %d, or 0 for %d", spec.MaxAttempts, maxFetchAttempts, DefaultFetchAttempts)
	}
	return nil
}

// checkFetchKey keeps a key inside its destination, whatever kind of store that is.
func checkFetchKey(key string) error {
	switch {
	case key == "":
		return fetchError("key is missing, set it to the name of the object, such as 2026/report.csv")
	case utf8.RuneCountInString(key) > maxFetchKeyChars:
		return fetchError("key has %d characters, at most %d are allowed", utf8.RuneCountInString(key), maxFetchKeyChars)
	case !utf8.ValidString(key) || strings.ContainsFunc(key, unicode.IsControl) || strings.Contains(key, `\`):
		return fetchError("key %q has control characters or backslashes, or is not UTF-8", key)
	}
	for segment := range strings.SplitSeq(key, "/") {
		if segment == "" || segment == "." || segment == ".." {
			return fetchError("key %q has the segment %q: it must stay below its destination", key, segment)
		}
	}
	return nil
}

// FetchEnded returns the outcome of a fetch without what was carried.
func FetchEnded(spec wire.FetchSpec, status wire.FetchStatus, reason wire.FetchReason, detail string) wire.FetchOutcome {
	return wire.FetchOutcome{
		Status: status, Reason: reason, Detail: detail,
		OperationID: spec.OperationID, Provider: spec.Provider, Account: spec.Account, ProviderJobID: spec.ProviderJobID,
		ResultName: spec.ResultName, Destination: spec.Destination, Key: spec.Key,
	}
}

// RenewedReference returns the reference that a fresh status answer has in place of an expired one. ok is false where the answer
// is no proven success of the same job, or has no other reference.
func RenewedReference(spec wire.FetchSpec, result wire.PollResult) (reference string, ok bool) {
	if result.NotSent != "" || result.Observation == nil || result.Observation.Answer != wire.AnswerRead || result.Observation.Job == nil {
		return "", false
	}
	job := result.Observation.Job
	if job.OtherJob || job.Category != wire.CategorySuccess && job.Category != wire.CategoryPartial {
		return "", false
	}
	reference = job.Result[spec.ResultName]
	return reference, reference != "" && reference != spec.URL
}
