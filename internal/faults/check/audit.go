package check

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"time"
	"unicode/utf16"

	"github.com/jobwait/jobwait/wire"
)

// applied is a decision that took effect.
type applied struct {
	at       time.Time
	decision wire.Decision
}

// readAudit joins the entries of the runs, verifies the chain and reads from it what was applied and when people were asked.
func (c *checker) readAudit() {
	head := ""
	for _, run := range c.Runs {
		c.entries = append(c.entries, run.Audit.Entries...)
		head = run.Audit.Head
	}
	if bad := verifyChain(c.entries); bad != "" {
		c.say(RuleAudit, "%s", bad)
	}
	if n := len(c.entries); n > 0 && c.entries[n-1].Hash != head {
		c.say(RuleAudit, "the head is not the hash of the last entry")
	}
	for _, entry := range c.entries {
		c.readEntry(entry)
	}
}

func (c *checker) readEntry(entry wire.Entry) {
	switch entry.Event { //nolint:exhaustive // the others open and close nothing
	case wire.EventEscalated:
		c.asking = append(c.asking, interval{from: entry.At})
	case wire.EventClosed:
		c.answered(entry.At)
	case wire.EventDecisionApplied:
		c.answered(entry.At)
		c.apply(entry)
	}
}

// answered ends the question that is open, if one is.
func (c *checker) answered(at time.Time) {
	if n := len(c.asking); n > 0 && c.asking[n-1].until.IsZero() {
		c.asking[n-1].until = at
	}
}

// apply takes the numbers of a decision from the signal or update that brought it and not from the audit.
func (c *checker) apply(entry wire.Entry) {
	var noted wire.Decision
	if err := json.Unmarshal(entry.Decision, &noted); err != nil {
		c.say(RuleDecision, "entry %d: %v", entry.Seq, err)
		return
	}
	came, ok := c.arrived[noted.DecisionID]
	if !ok {
		c.say(RuleDecision, "decision %q was applied and never sent", noted.DecisionID)
		return
	}
	if slices.ContainsFunc(c.applied, func(a applied) bool { return a.decision.DecisionID == noted.DecisionID }) {
		c.say(RuleDecision, "decision %q was applied twice", noted.DecisionID)
	}
	c.applied = append(c.applied, applied{at: entry.At, decision: came.decision})
}

// allTaken: every decision that came in stands in the audit, applied or refused. Where decisions must be signed, a row of refusals may
// be shortened.
func (c *checker) allTaken() {
	if !c.closed || len(c.entries) == 0 || len(c.Keys) > 0 {
		return
	}
	taken := map[string]bool{}
	for _, entry := range c.entries {
		if entry.Event == wire.EventDecisionApplied || entry.Event == wire.EventDecisionRefused {
			var noted wire.Decision
			_ = json.Unmarshal(entry.Decision, &noted) // one that cannot be read has no id to be looked for
			taken[noted.DecisionID] = true
		}
	}
	for id := range c.arrived {
		if !taken[id] {
			c.say(RuleDecision, "decision %q came in, and the audit does not say what became of it", id)
		}
	}
}

// withinBounds: no decision grants more than one may.
func (c *checker) withinBounds() {
	for _, a := range c.applied {
		d, most := a.decision, c.Most
		if d.Seconds > most.Seconds || d.StatusRequests > most.StatusRequests || d.TransportFailures > most.TransportFailures || d.RateLimited > most.RateLimited {
			c.say(RuleDecision, "decision %q was applied, and one may grant %+v", d.DecisionID, most)
		}
	}
}

// verifyChain says which entry breaks the chain, in words; empty: none.
func verifyChain(entries []wire.Entry) string {
	prev := ""
	for i, entry := range entries {
		switch text, err := canonicalEntry(entry); {
		case err != nil:
			return fmt.Sprintf("entry %d: %v", entry.Seq, err)
		case entry.Seq != i+1:
			return fmt.Sprintf("entry %d stands where %d belongs", entry.Seq, i+1)
		case entry.Prev != prev:
			return fmt.Sprintf("entry %d does not follow the one before", entry.Seq)
		case entry.Hash != fmt.Sprintf("sha256:%x", sha256.Sum256(text)):
			return fmt.Sprintf("entry %d is not what its hash says", entry.Seq)
		}
		prev = entry.Hash
	}
	return ""
}

// canonicalEntry is the text that an entry's hash is taken over: every key but the hash in the documented order.
func canonicalEntry(e wire.Entry) ([]byte, error) {
	decision, err := canonical(e.Decision)
	if err != nil {
		return nil, err
	}
	fields := []struct{ name, value string }{
		{"seq", strconv.Itoa(e.Seq)},
		{"at", canonicalTime(&e.At)},
		{"event", quote(string(e.Event))},
		{"raw_state", quote(e.RawState)},
		{"category", quote(string(e.Category))},
		{"http_status", strconv.Itoa(e.HTTPStatus)},
		{"provider_request_id", quote(e.ProviderRequestID)},
		{"next_poll_at", canonicalTime(e.NextPollAt)},
		{"delay_source", quote(string(e.DelaySource))},
		{"status_requests_used", strconv.Itoa(e.StatusRequestsUsed)},
		{"max_status_requests", strconv.Itoa(e.MaxStatusRequests)},
		{"deadline_at", canonicalTime(e.DeadlineAt)},
		{"reason", quote(e.Reason)},
		{"detail", quote(e.Detail)},
		{"decision", decision},
		{"table_digest", quote(e.TableDigest)},
		{"prev", quote(e.Prev)},
	}
	var out bytes.Buffer
	for i, field := range fields {
		out.WriteByte("{,"[min(i, 1)])
		out.WriteString(quote(field.name) + ":" + field.value)
	}
	out.WriteByte('}')
	return out.Bytes(), nil
}

func canonicalTime(t *time.Time) string {
	if t == nil {
		return "null"
	}
	return quote(t.UTC().Format("2006-01-02T15:04:05.000Z07:00"))
}

// canonical is RFC 8785 for what a decision can hold: objects, lists, texts, booleans, null and whole numbers.
func canonical(raw []byte) (string, error) {
	if len(raw) == 0 {
		return "null", nil
	}
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		return "", err
	}
	return canonicalValue(value)
}

func canonicalValue(value any) (string, error) {
	switch value := value.(type) {
	case nil:
		return "null", nil
	case bool:
		return strconv.FormatBool(value), nil
	case string:
		return quote(value), nil
	case json.Number:
		whole, err := value.Int64()
		return strconv.FormatInt(whole, 10), err
	case []any:
		return canonicalList(value)
	case map[string]any:
		return canonicalObject(value)
	default:
		return "", fmt.Errorf("a %T in a decision", value)
	}
}

func canonicalList(list []any) (string, error) {
	out := "["
	for i, item := range list {
		text, err := canonicalValue(item)
		if err != nil {
			return "", err
		}
		out += comma(i) + text
	}
	return out + "]", nil
}

// canonicalObject sorts the keys by their UTF-16 code units.
func canonicalObject(object map[string]any) (string, error) {
	keys := make([]string, 0, len(object))
	for key := range object {
		keys = append(keys, key)
	}
	slices.SortFunc(keys, func(a, b string) int { return slices.Compare(utf16.Encode([]rune(a)), utf16.Encode([]rune(b))) })
	out := "{"
	for i, key := range keys {
		text, err := canonicalValue(object[key])
		if err != nil {
			return "", err
		}
		out += comma(i) + quote(key) + ":" + text
	}
	return out + "}", nil
}

func comma(i int) string {
	if i == 0 {
		return ""
	}
	return ","
}

// quote escapes what RFC 8785 escapes and nothing else.
func quote(text string) string {
	short := map[rune]string{'"': `\"`, '\\': `\\`, '\b': `\b`, '\f': `\f`, '\n': `\n`, '\r': `\r`, '\t': `\t`}
	out := []byte{'"'}
	for _, r := range text {
		switch escaped, ok := short[r]; {
		case ok:
			out = append(out, escaped...)
		case r < 0x20:
			out = fmt.Appendf(out, `\u%04x`, r)
		default:
			out = append(out, string(r)...)
		}
	}
	return string(append(out, '"'))
}
