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
	// seq and head are of the entry before the first one, latest is what the next one is written against.
	seq    int
	head   string
	latest against
}

// against is what an entry differs from: numbers of the one before, with times in milliseconds since 1970.
type against struct {
	at, deadline int64
	used, most   int
}

// Words are few and short: names of this package and of a state table. Others stand in the text as they are.
const (
	maxWords    = 64
	longestWord = 128
)

// add takes an entry at the end. Its times are as exact as a millisecond, and it follows the one before without a gap.
func (j *journal) add(e wire.Entry) {
	if j.n == 0 {
		j.seq, j.head = e.Seq-1, e.Prev
	}
	at := e.At.UnixMilli()
	j.number(at - j.latest.at)
	j.word(string(e.Event))
	j.word(e.RawState)
	j.word(string(e.Category))
	j.number(int64(e.HTTPStatus))
	j.plain(e.ProviderRequestID)
	j.moment(e.NextPollAt, at)
	j.word(string(e.DelaySource))
	j.number(int64(e.StatusRequestsUsed - j.latest.used))
	j.number(int64(e.MaxStatusRequests - j.latest.most))
	j.moment(e.DeadlineAt, j.latest.deadline)
	j.word(e.Reason)
	j.word(e.Detail)
	j.plain(string(e.Decision))
	j.word(e.TableDigest)
	j.n, j.latest = j.n+1, againstOf(&e)
}

func againstOf(e *wire.Entry) against {
	a := against{at: e.At.UnixMilli(), used: e.StatusRequestsUsed, most: e.MaxStatusRequests}
	if a.deadline = a.at; e.DeadlineAt != nil {
		a.deadline = e.DeadlineAt.UnixMilli()
	}
	return a
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
func (j *journal) moment(at *time.Time, from int64) {
	if at == nil {
		j.number(0)
		return
	}
	j.number(1)
	j.number(at.UnixMilli() - from)
}

// entries are all that were added, as they were.
func (j *journal) entries() []wire.Entry {
	all := make([]wire.Entry, 0, j.n)
	from := journalReader{text: j.text, words: j.words, head: j.head}
	for i := range j.n {
		all = append(all, from.entry(j.seq+1+i))
	}
	return all
}

// journalReader reads what journal wrote, in the same order.
type journalReader struct {
	text   []byte
	words  []string
	head   string
	latest against
}

func (r *journalReader) entry(seq int) wire.Entry {
	e := wire.Entry{Seq: seq, Prev: r.head}
	at := r.latest.at + r.number()
	e.At = time.UnixMilli(at).UTC()
	e.Event = wire.Event(r.word())
	e.RawState = r.word()
	e.Category = wire.Category(r.word())
	e.HTTPStatus = int(r.number())
	e.ProviderRequestID = r.plain()
	e.NextPollAt = r.moment(at)
	e.DelaySource = wire.DelaySource(r.word())
	e.StatusRequestsUsed = r.latest.used + int(r.number())
	e.MaxStatusRequests = r.latest.most + int(r.number())
	e.DeadlineAt = r.moment(r.latest.deadline)
	e.Reason = r.word()
	e.Detail = r.word()
	if decision := r.plain(); decision != "" {
		e.Decision = json.RawMessage(decision)
	}
	e.TableDigest = r.word()
	e.Hash = EntryHash(e)
	r.head, r.latest = e.Hash, againstOf(&e)
	return e
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

func (r *journalReader) moment(from int64) *time.Time {
	if r.number() == 0 {
		return nil
	}
	at := time.UnixMilli(from + r.number()).UTC()
	return &at
}
