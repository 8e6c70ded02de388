package startercmd

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/jobwait/jobwait/wire"
)

// write says in words how the answer was read and what the wait does then.
func (t *trial) write(to io.Writer) error {
	view := t.op.View(t.now)
	var f fields
	f.add("answer", "%s", answerText(t.seen))
	if t.seen.Job != nil {
		addJob(&f, *t.seen.Job, t.otherText())
	}
	f.add("guidance", "%s", guidanceText(t.seen.Guidance))
	f.add("next poll at", "%s", t.seen.NextStatusURL)
	f.add("counted", "%s", countedText(view))
	f.add("then", "%s", t.thenText(t.step(view)))
	return f.write(to)
}

// answerText is the HTTP fact.
func answerText(seen wire.Observation) string {
	text := fmt.Sprintf("HTTP %d: %s", seen.HTTPStatus, answerWords[seen.Answer])
	if seen.Detail != "" {
		text += ": " + strings.ReplaceAll(seen.Detail, "_", " ")
	}
	return text
}

// answerWords say what each kind of answer is. Of the job only the first two tell anything.
var answerWords = map[wire.Answer]string{
	wire.AnswerRead:        "it speaks of the job",
	wire.AnswerMalformed:   "it cannot be read as the table expects",
	wire.AnswerDenied:      "the credential was refused",
	wire.AnswerNotFound:    "there is no such job",
	wire.AnswerRateLimited: "asked too often; says nothing of the job",
	wire.AnswerServerError: "the provider failed; says nothing of the job",
	wire.AnswerUnexpected:  "a code that a status request should not be answered with",
}

// otherText is what is wrong with an answer about another job, and how to ask for that job.
func (t *trial) otherText() string {
	about, job := "", "ID"
	if t.about != "" {
		about = fmt.Sprintf("%q, ", t.about)
	}
	if shellSafe.MatchString(t.about) {
		job = t.about
	}
	way := "give --job " + job + ", or --spec FILE, where that is your job"
	if t.bySpec {
		way = "the spec names the job in provider_job_id"
	}
	return fmt.Sprintf("about %sANOTHER job than %q, which was asked for; %s", about, t.op.Record().Prepared.Spec.ProviderJobID, way)
}

// shellSafe are words that a shell takes as they stand.
var shellSafe = regexp.MustCompile(`^[A-Za-z0-9._:/@%+=-]+$`)

// answersID looks up a job id that a table reads from a plain path of the body (body.data.id); empty for any other.
func answersID(path string, body []byte) string {
	names, plain := strings.CutPrefix(path, "body.")
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.UseNumber() // ids are not rounded
	var value any
	if !plain || decoder.Decode(&value) != nil {
		return ""
	}
	for name := range strings.SplitSeq(names, ".") {
		object, _ := value.(map[string]any)
		value = object[name]
	}
	switch id := value.(type) {
	case string:
		return id
	case json.Number:
		return id.String()
	default:
		return ""
	}
}

// addJob is the job fact; other is what to say of an answer about another job.
func addJob(f *fields, job wire.JobFact, other string) {
	f.add("state", "%q, read as %s", job.RawState, job.Category)
	if job.OtherJob {
		f.add("", "%s", other)
	}
	f.add("not proven", "%s", strings.Join(job.Unproven, ", "))
	f.add("result", "%s", pairsText(job.Result))
	f.add("error", "%s", strings.TrimSpace(job.Error.Code+" "+job.Error.Message))
	f.add("progress", "%s", job.Progress)
	f.add("updated at", "%s", stampOrNothing(job.UpdatedAt))
	f.add("expires at", "%s", stampOrNothing(job.ExpiresAt))
	if job.Cancellable != nil {
		f.add("cancellable", "%t", *job.Cancellable)
	}
}

func pairsText(pairs map[string]string) string {
	var lines []string
	for _, name := range slices.Sorted(maps.Keys(pairs)) {
		lines = append(lines, name+": "+pairs[name])
	}
	return strings.Join(lines, "\n")
}

func stampOrNothing(at *time.Time) string {
	if at == nil {
		return ""
	}
	return stamp(*at)
}

func guidanceText(guidance wire.Guidance) string {
	var parts []string
	if minimum := guidance.RetryAfterSeconds; minimum != nil {
		parts = append(parts, fmt.Sprintf("not before %d s (Retry-After)", *minimum))
	}
	if hint := guidance.PollHintSeconds; hint != nil {
		parts = append(parts, fmt.Sprintf("again in %d s (hint)", *hint))
	}
	for _, rejected := range guidance.Rejected {
		parts = append(parts, fmt.Sprintf("%s not followed: %s", rejected.Source, rejected.Detail))
	}
	return strings.Join(parts, ", ")
}

// countedText is what the wait has used.
func countedText(view wire.OperationView) string {
	text := fmt.Sprintf("request %d of %d", view.Counters.StatusRequestsUsed, view.Limits.MaxStatusRequests)
	if n := view.Counters.TransportFailuresUsed; n > 0 {
		text += fmt.Sprintf(", transport failure %d of %d", n, view.Limits.MaxTransportFailures)
	}
	if n := view.Counters.RateLimitedUsed; n > 0 {
		text += fmt.Sprintf(", rate limit %d of %d", n, view.Limits.MaxRateLimited)
	}
	return text
}

func (t *trial) thenText(next nextStep) string {
	switch next.Action {
	case "end":
		return "the wait ends: " + outcomeText(*next.Outcome)
	case "ask_a_person":
		return "stops and asks a person: " + escalationText(*next.Escalation)
	case "ask_again":
		return fmt.Sprintf("asks again in %.0f s, from %s%s", next.DelaySeconds, next.DelaySource, t.jitterText(next.DelaySource))
	default:
		return "asks no more; at the deadline it stops and asks a person"
	}
}

// escalationText is a question and the answers that are offered.
func escalationText(open wire.EscalationView) string {
	lines := []string{reasonText(open.Reason, open.Detail)}
	for _, option := range open.Options {
		lines = append(lines, fmt.Sprintf("  %s: %s", option.Kind, option.Text))
	}
	return strings.Join(lines, "\n")
}

// jitterText is between which bounds a delay of our own lies.
func (t *trial) jitterText(source wire.DelaySource) string {
	raw := t.op.Record().Poll.RawDelaySeconds
	if source != wire.DelayLocalBackoff {
		return ""
	}
	return fmt.Sprintf(" (%d to %d s by jitter)", (raw+1)/2, raw)
}
