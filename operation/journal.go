package operation

import (
	"encoding/binary"
	"encoding/json"
	"slices"
	"time"

	"github.com/jobwait/jobwait/wire"
)

// journal keeps the audit entries of a run. A worker holds those of thousands of waits in memory, so it keeps only how an
// entry differs from the one before, and words that come again once; the hash follows from the rest. That is some 20 bytes
// an entry instead of 400.
type journal struct {
	n     int
	text  []byte
	words []string
	// before is where the first entry goes on; last is the latest one.
	before, last wire.Entry
}

// Words are few and short: names of this package and of a state table. Others stand in the text as they are.
const (
	maxWords    = 64
	longestWord = 128
)

// add takes an entry at the end. Its times are as exact as a millisecond, and it follows the one before without a gap.
func (j *journal) add(e wire.Entry) {
	if j.n == 0 {
		j.before = wire.Entry{Seq: e.Seq - 1, Hash: e.Prev}
		j.last = j.before
	}
	j.number(e.At.UnixMilli() - j.last.At.UnixMilli())
	j.word(string(e.Event))
	j.word(e.RawState)
	j.word(string(e.Category))
	j.number(int64(e.HTTPStatus))
	j.plain(e.ProviderRequestID)
	j.moment(e.NextPollAt, e.At)
	j.word(string(e.DelaySource))
	j.number(int64(e.StatusRequestsUsed - j.last.StatusRequestsUsed))
	j.number(int64(e.MaxStatusRequests - j.last.MaxStatusRequests))
	j.moment(e.DeadlineAt, deadlineOf(j.last))
	j.word(e.Reason)
	j.word(e.Detail)
	j.plain(string(e.Decision))
	j.word(e.TableDigest)
	j.n, j.last = j.n+1, e
}

// deadlineOf is what the next entry's deadline is written against.
func deadlineOf(e wire.Entry) time.Time {
	if e.DeadlineAt == nil {
		return e.At
	}
	return *e.DeadlineAt
}

func (j *journal) number(n int64) { j.text = binary.AppendVarint(j.text, n) }

func (j *journal) plain(text string) {
	j.text = append(binary.AppendUvarint(j.text, uint64(len(text))), text...)
}

// word writes a place among the words, from 1 on, or 0 and the text.
func (j *journal) word(text string) {
	place := slices.Index(j.words, text)
	if place < 0 && len(j.words) < maxWords && len(text) <= longestWord {
		place = len(j.words)
		j.words = append(j.words, text)
	}
	j.text = binary.AppendUvarint(j.text, uint64(place+1))
	if place < 0 {
		j.plain(text)
	}
}

// moment writes 0 for none, or 1 and the distance.
func (j *journal) moment(at *time.Time, from time.Time) {
	if at == nil {
		j.number(0)
		return
	}
	j.number(1)
	j.number(at.UnixMilli() - from.UnixMilli())
}

// entries are all that were added, as they were.
func (j *journal) entries() []wire.Entry {
	all := make([]wire.Entry, 0, j.n)
	last, from := j.before, journalReader{text: j.text, words: j.words}
	for range j.n {
		last = from.entry(last)
		all = append(all, last)
	}
	return all
}

// journalReader reads what journal wrote, in the same order.
type journalReader struct {
	text  []byte
	words []string
}

func (r *journalReader) entry(last wire.Entry) wire.Entry {
	e := wire.Entry{Seq: last.Seq + 1, Prev: last.Hash}
	e.At = moved(last.At, r.number())
	e.Event = wire.Event(r.word())
	e.RawState = r.word()
	e.Category = wire.Category(r.word())
	e.HTTPStatus = int(r.number())
	e.ProviderRequestID = r.plain()
	e.NextPollAt = r.moment(e.At)
	e.DelaySource = wire.DelaySource(r.word())
	e.StatusRequestsUsed = last.StatusRequestsUsed + int(r.number())
	e.MaxStatusRequests = last.MaxStatusRequests + int(r.number())
	e.DeadlineAt = r.moment(deadlineOf(last))
	e.Reason = r.word()
	e.Detail = r.word()
	if decision := r.plain(); decision != "" {
		e.Decision = json.RawMessage(decision)
	}
	e.TableDigest = r.word()
	e.Hash = EntryHash(e)
	return e
}

func moved(from time.Time, milliseconds int64) time.Time {
	return time.UnixMilli(from.UnixMilli() + milliseconds).UTC()
}

func (r *journalReader) number() int64 {
	n, size := binary.Varint(r.text)
	r.text = r.text[size:]
	return n
}

func (r *journalReader) count() int {
	n, size := binary.Uvarint(r.text)
	r.text = r.text[size:]
	return int(n) //nolint:gosec // journal wrote it from an int
}

func (r *journalReader) plain() string {
	size := r.count()
	text := string(r.text[:size])
	r.text = r.text[size:]
	return text
}

func (r *journalReader) word() string {
	if place := r.count(); place > 0 {
		return r.words[place-1]
	}
	return r.plain()
}

func (r *journalReader) moment(from time.Time) *time.Time {
	if r.number() == 0 {
		return nil
	}
	at := moved(from, r.number())
	return &at
}
