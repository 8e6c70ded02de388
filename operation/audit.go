package operation

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/jobwait/jobwait/wire"
)

// usualEntry is more bytes than most entries have in canonical form.
const usualEntry = 768

// note appends one entry to the audit, filled with the state of the wait and chained to the entry before.
func (o *Operation) note(entry wire.Entry) {
	if o.rec.RefusedInARow > 0 && entry.Event != wire.EventDecisionRefused {
		o.noteRow(entry.At)
	}
	deadline := o.rec.Limits.DeadlineAt.UTC().Truncate(time.Millisecond)
	entry.Seq = o.rec.AuditSeq + 1
	entry.At = entry.At.UTC().Truncate(time.Millisecond)
	entry.RawState, entry.Category = o.rec.LastRawState, o.rec.LastCategory
	entry.StatusRequestsUsed = o.rec.Counters.StatusRequestsUsed
	entry.MaxStatusRequests = o.rec.Limits.MaxStatusRequests
	entry.DeadlineAt = &deadline
	entry.Prev = o.rec.AuditHead
	entry.Hash = EntryHash(entry)
	o.rec.AuditSeq, o.rec.AuditHead = entry.Seq, entry.Hash
	o.journal.add(entry)
	o.entryBytes += usualEntry + len(entry.Detail) + len(entry.Decision)
}

// noteAnswer records the HTTP fact of a request; what it means for the job follows as entries of its own.
func (o *Operation) noteAnswer(now time.Time, seen wire.Observation, held *wire.HeldBack) {
	event := wire.EventResponseReceived
	if seen.Answer == wire.AnswerTransportFailure {
		event = wire.EventRequestLost
	}
	o.note(wire.Entry{
		At: now, Event: event, HTTPStatus: seen.HTTPStatus, ProviderRequestID: seen.ProviderRequestID,
		Reason: string(seen.Answer), Detail: withHeldBack(answerDetail(seen), now, held, seen.SentAt), TableDigest: seen.TableDigest,
	})
}

// answerDetail carries what a reader of the story needs beside the code: the guidance, or what was wrong.
func answerDetail(seen wire.Observation) string {
	if minimum := seen.Guidance.RetryAfterSeconds; minimum != nil {
		return "retry_after " + strconv.FormatInt(*minimum, 10)
	}
	return seen.Detail
}

// heldBackWord begins what a detail says of a request that was held back: for how many seconds, how often, and why last.
const heldBackWord = "held_back "

// withHeldBack adds to a detail how the request was held back before it was sent at the given time, or was given up now.
func withHeldBack(detail string, now time.Time, held *wire.HeldBack, sentAt *time.Time) string {
	if held == nil {
		return detail
	}
	until := now
	if sentAt != nil {
		until = *sentAt
	}
	waited := int(max(until.Sub(held.Since), 0) / time.Second)
	words := heldBackWord + strconv.Itoa(waited) + " " + strconv.Itoa(held.Times) + " " + string(held.Cause)
	return joinWords(detail, words)
}

func (o *Operation) noteRejected(now time.Time, rejected []wire.RejectedGuidance) {
	for _, guidance := range rejected {
		o.note(wire.Entry{At: now, Event: wire.EventGuidanceRejected, Reason: string(guidance.Source), Detail: guidance.Detail})
	}
}

// EntryHash returns the SHA-256 of the entry's canonical JSON without its hash, written "sha256:" and lower-case hex.
func EntryHash(entry wire.Entry) string {
	sum := sha256.Sum256(appendCanonical(make([]byte, 0, usualEntry), entry))
	var out [len("sha256:") + 2*sha256.Size]byte
	copy(out[:], "sha256:")
	hex.Encode(out[len("sha256:"):], sum[:])
	return string(out[:])
}

// VerifyChain checks that entries follow each other without a gap or a change, the first one on the head before them.
// It returns the sequence number of the first entry that does not fit, or 0.
func VerifyChain(prev string, entries []wire.Entry) int {
	for i, entry := range entries {
		inOrder := i == 0 || entry.Seq == entries[i-1].Seq+1
		entry.Decision = canonicalAgain(entry.Decision)
		if !inOrder || entry.Prev != prev || EntryHash(entry) != entry.Hash {
			return entry.Seq
		}
		prev = entry.Hash
	}
	return 0
}

// canonicalAgain undoes what JSON encoders on the way do to a payload: Go's own writes <, > and & as escapes.
func canonicalAgain(decision json.RawMessage) json.RawMessage {
	if canonical, err := wire.Canonical(decision); err == nil && string(decision) != "null" {
		return canonical
	}
	return decision
}

// appendCanonical appends the entry's canonical JSON: every key in the order of wire.Entry but the hash, no white space,
// strings as RFC 8785 writes them, times in UTC with milliseconds, unset times and decisions null.
func appendCanonical(dst []byte, e wire.Entry) []byte {
	dst = appendInt(append(dst, `{"seq":`...), e.Seq)
	dst = appendTime(append(dst, `,"at":`...), &e.At)
	dst = wire.AppendText(append(dst, `,"event":`...), string(e.Event))
	dst = wire.AppendText(append(dst, `,"raw_state":`...), e.RawState)
	dst = wire.AppendText(append(dst, `,"category":`...), string(e.Category))
	dst = appendInt(append(dst, `,"http_status":`...), e.HTTPStatus)
	dst = wire.AppendText(append(dst, `,"provider_request_id":`...), e.ProviderRequestID)
	dst = appendTime(append(dst, `,"next_poll_at":`...), e.NextPollAt)
	dst = wire.AppendText(append(dst, `,"delay_source":`...), string(e.DelaySource))
	dst = appendInt(append(dst, `,"status_requests_used":`...), e.StatusRequestsUsed)
	dst = appendInt(append(dst, `,"max_status_requests":`...), e.MaxStatusRequests)
	dst = appendTime(append(dst, `,"deadline_at":`...), e.DeadlineAt)
	dst = wire.AppendText(append(dst, `,"reason":`...), e.Reason)
	dst = wire.AppendText(append(dst, `,"detail":`...), e.Detail)
	dst = appendRaw(append(dst, `,"decision":`...), e.Decision)
	dst = wire.AppendText(append(dst, `,"table_digest":`...), e.TableDigest)
	dst = wire.AppendText(append(dst, `,"prev":`...), e.Prev)
	return append(dst, '}')
}

func appendInt(dst []byte, n int) []byte { return strconv.AppendInt(dst, int64(n), 10) }

func appendTime(dst []byte, t *time.Time) []byte {
	if t == nil {
		return append(dst, "null"...)
	}
	return append(t.UTC().AppendFormat(append(dst, '"'), "2006-01-02T15:04:05.000Z"), '"')
}

func appendRaw(dst, raw []byte) []byte {
	if len(raw) == 0 {
		return append(dst, "null"...)
	}
	return append(dst, raw...)
}

// unparsed is the form in which an unparsable decision stands in the audit: a string of at most 1 KiB.
func unparsed(payload []byte) []byte {
	return wire.AppendText(nil, bounded(strings.ToValidUTF8(bareText(bounded(string(payload), 1024)), "\uFFFD"), 1024))
}

// bounded cuts on a rune.
func bounded(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	for limit > 0 && !utf8.RuneStart(text[limit]) {
		limit--
	}
	return text[:limit]
}

// Audit answers the audit query.
func (o *Operation) Audit() wire.AuditView {
	return wire.AuditView{Entries: o.journal.entries(), Head: o.rec.AuditHead, FirstSeq: o.rec.AuditSeq - o.journal.n + 1}
}
