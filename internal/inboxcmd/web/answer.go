package web

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/jobwait/jobwait/internal/inboxcmd/access"
	"github.com/jobwait/jobwait/internal/waits"
	"github.com/jobwait/jobwait/wire"
)

// reply is what a page says about an answer that was sent.
type reply struct {
	// applied is the id of a decision that the audit is to have.
	applied string
	// tone is "bad", "warn" or "quiet"; title and text are what happened.
	tone, title, text string
	// word is the refusal as programs know it.
	word string
	// escalation is the question that was answered: the audit may say who else answered it.
	escalation string
	// draft is what the person typed, to go on with; sealed keeps the same decision id where the first may be applied.
	draft  draft
	sealed string
	// field names what is wrong in the form.
	field string
}

// draft is a form as it was sent.
type draft struct {
	kind    wire.DecisionKind
	comment string
	values  map[string]string
}

// value is what was typed into a field of an option.
func (d draft) value(kind wire.DecisionKind, field, standard string) string {
	if text, ok := d.values[fieldName(kind, field)]; ok {
		return text
	}
	return standard
}

// fieldName tells the fields of one option from those of the others, which the same form has.
func fieldName(kind wire.DecisionKind, field string) string { return string(kind) + "." + field }

// answer takes a form, sends the decision as an update, and shows at once what became of it.
func (s *Server) answer(w http.ResponseWriter, r *http.Request, who access.Person) {
	ref, ok := s.visible(w, r, who)
	if !ok {
		return
	}
	if err := r.ParseForm(); err != nil {
		s.unreadable(w, r, who, err)
		return
	}
	if wait := s.limits.answer(who.Name); wait > 0 {
		s.tooMany(w, r, who, wait)
		return
	}
	a := &answering{Server: s, w: w, r: r, who: who, ref: ref, draft: readDraft(r.PostForm)}
	if decision, ok := a.read(); ok && a.sign(&decision) {
		a.send(decision)
	}
}

// answering is one answer on its way.
type answering struct {
	*Server
	w     http.ResponseWriter
	r     *http.Request
	who   access.Person
	ref   waitRef
	draft draft
	log   *slog.Logger
}

// read is the decision that a form says, in the name of who sends it. What is not to be sent is answered.
func (a *answering) read() (wire.Decision, bool) {
	about, err := a.forms.open(a.r.PostForm.Get("about"), a.who.Name, a.ref.id, time.Now())
	a.log = a.options.Logger.With("person", a.who.Name, "groups", a.who.Groups, "workflow_id", a.ref.id, "kind", a.draft.kind,
		"escalation_id", about.EscalationID, "decision_id", about.DecisionID, "remote", a.r.RemoteAddr)
	if err != nil {
		a.log.WarnContext(a.r.Context(), "refused an answer", "because", err)
		a.draw(http.StatusConflict, reply{
			tone: "bad", title: "Your answer was not sent", text: "The form is too old, or was not made for you by this server. Look at the question again.",
		})
		return wire.Decision{}, false
	}
	if a.draft.kind != "" && !a.options.Policy.MayAnswer(a.who, a.ref.provider, a.ref.account, a.draft.kind) {
		a.log.WarnContext(a.r.Context(), "refused an answer", "because", "no rule allows it")
		a.count(a.draft.kind, "not_allowed")
		a.draw(http.StatusForbidden, reply{
			tone: "bad", title: "You may not answer so", text: fmt.Sprintf("No rule of the inbox allows %s this answer for account %q at %q. The refusal was recorded.", a.who.Name, a.ref.account, a.ref.provider),
		})
		return wire.Decision{}, false
	}
	decision, wrong := a.draft.decision(about)
	if wrong != nil {
		a.draw(http.StatusUnprocessableEntity, reply{tone: "bad", title: "Your answer was not sent", text: wrong.text, field: wrong.field})
		return wire.Decision{}, false
	}
	decision.DecidedBy = a.who.Name
	return decision, true
}

// draw shows the wait with what became of the answer, and what was typed.
func (a *answering) draw(status int, said reply) {
	said.draft = a.draft
	a.drawWait(a.w, a.r, a.who, a.ref, status, said)
}

// sign signs a decision where answers are signed.
func (a *answering) sign(decision *wire.Decision) bool {
	if a.options.Sign == nil {
		return true
	}
	signed, err := a.options.Sign(*decision)
	if err != nil {
		a.log.ErrorContext(a.r.Context(), "cannot sign an answer", "error", err)
		a.fail(a.w, a.r, a.who, http.StatusInternalServerError, "Your answer cannot be signed", "The log of the inbox says why. Nothing was sent.")
		return false
	}
	*decision = signed
	return true
}

func (s *Server) unreadable(w http.ResponseWriter, r *http.Request, who access.Person, err error) {
	s.options.Logger.WarnContext(r.Context(), "refused an answer", "person", who.Name, "because", err, "remote", r.RemoteAddr)
	if errors.As(err, new(*http.MaxBytesError)) {
		s.fail(w, r, who, http.StatusRequestEntityTooLarge, "Your answer is too long", fmt.Sprintf("A comment has at most %d characters.", wire.MaxCommentChars))
		return
	}
	s.fail(w, r, who, http.StatusBadRequest, "Your answer cannot be read", "The form did not arrive as a browser sends it.")
}

func readDraft(form url.Values) draft {
	d := draft{kind: wire.DecisionKind(form.Get("kind")), values: map[string]string{}}
	if len(d.kind) > maxField {
		d.kind = ""
	}
	d.comment = strings.TrimSpace(strings.ReplaceAll(form.Get("comment"), "\r\n", "\n"))
	for name := range form {
		if len(name) <= maxField {
			d.values[name] = strings.TrimSpace(form.Get(name))
		}
	}
	return d
}

// wrongField is what can be known to be wrong without asking the wait.
type wrongField struct{ field, text string }

// decision is what a draft says. Its numbers and names are checked by the wait itself, which knows their bounds.
func (d draft) decision(about slip) (wire.Decision, *wrongField) {
	out := wire.Decision{Kind: d.kind, DecisionID: about.DecisionID, EscalationID: about.EscalationID, Comment: d.comment}
	switch {
	case d.kind == "":
		return out, &wrongField{"kind", "Choose an answer."}
	case d.comment == "":
		return out, &wrongField{"comment", "Say why: the comment stands in the audit."}
	case utf8.RuneCountInString(d.comment) > wire.MaxCommentChars:
		return out, &wrongField{"comment", fmt.Sprintf("The comment has %d characters; at most %d are allowed.", utf8.RuneCountInString(d.comment), wire.MaxCommentChars)}
	}
	if wrong := d.tooLong(); wrong != nil {
		return out, wrong
	}
	for _, field := range []struct {
		name string
		into *int
	}{
		{fieldSeconds, &out.Seconds}, {fieldRequests, &out.StatusRequests}, {fieldFailures, &out.TransportFailures}, {fieldRateLimited, &out.RateLimited},
	} {
		n, wrong := d.number(field.name)
		if wrong != nil {
			return out, wrong
		}
		*field.into = n
	}
	out.PastBusinessDeadline = d.value(d.kind, fieldBusiness, "") == "yes"
	wrong := d.fillNames(about, &out) // before out is read: the order within one return is not specified
	return out, wrong
}

// fillNames adds what some kinds name.
func (d draft) fillNames(about slip, into *wire.Decision) *wrongField {
	switch d.kind { //nolint:exhaustive // the others name nothing
	case wire.DecisionTreatAsPending:
		into.RawState = about.RawState
	case wire.DecisionUseCredential:
		if into.CredentialRef = d.value(d.kind, fieldCredential, ""); into.CredentialRef == "" {
			return &wrongField{fieldName(d.kind, fieldCredential), "Name the credential to go on with."}
		}
	case wire.DecisionAttach:
		return d.job(into)
	}
	return nil
}

// job is the job that a person found at the provider.
func (d draft) job(into *wire.Decision) *wrongField {
	into.StatusURL = d.value(d.kind, fieldStatusURL, "")
	if into.ProviderJobID = d.value(d.kind, fieldJob, ""); into.ProviderJobID == "" {
		return &wrongField{fieldName(d.kind, fieldJob), "Name the job that you found at the provider."}
	}
	for _, pair := range strings.Fields(d.value(d.kind, fieldParams, "")) {
		name, value, ok := strings.Cut(pair, "=")
		if _, twice := into.Params[name]; !ok || name == "" || twice {
			return &wrongField{fieldName(d.kind, fieldParams), fmt.Sprintf("%q is not name=value, or its name is there already.", pair)}
		}
		if into.Params == nil {
			into.Params = map[string]string{}
		}
		into.Params[name] = value
	}
	return nil
}

// tooLong is a field of the answer that has more in it than is taken. What was typed is never left out of what is sent.
func (d draft) tooLong() *wrongField {
	for _, name := range slices.Sorted(maps.Keys(d.values)) {
		field, ok := strings.CutPrefix(name, fieldName(d.kind, ""))
		if n, most := utf8.RuneCountInString(d.values[name]), longest(field); ok && n > most {
			return &wrongField{name, fmt.Sprintf("What was typed for %q has %d characters; at most %d are allowed.", field, n, most)}
		}
	}
	return nil
}

// number reads a number of an option; times are typed with their unit.
func (d draft) number(field string) (int, *wrongField) {
	text := d.value(d.kind, field, "")
	if text == "" {
		return 0, nil
	}
	n, err := strconv.ParseFloat(text, 64)
	if err != nil || !(n >= 0 && n <= maxNumber) { // not a number is neither
		return 0, &wrongField{fieldName(d.kind, field), fmt.Sprintf("%q is not a number from 0 to %d.", text, maxNumber)}
	}
	if field != fieldSeconds {
		if n != float64(int(n)) {
			return 0, &wrongField{fieldName(d.kind, field), fmt.Sprintf("%q is not a whole number.", text)}
		}
		return int(n), nil
	}
	unit, ok := units[d.value(d.kind, fieldUnit, unitMinutes)]
	if !ok {
		return 0, &wrongField{fieldName(d.kind, fieldUnit), "Choose minutes, hours or days."}
	}
	return int(n * unit.Seconds()), nil
}

// maxNumber keeps what is typed within what a decision can hold; the wait's own bounds are narrower.
const maxNumber = 1_000_000

// send sends a decision and shows what became of it.
func (a *answering) send(decision wire.Decision) {
	// Once sent, a decision is seen to its end: whoever goes away finds it in the audit.
	ctx := context.WithoutCancel(a.r.Context())
	_, err := a.options.Waits.Decide(ctx, a.ref.id, decision)
	a.lists.forget() // nobody is to be shown what they have answered
	if err == nil {
		a.log.InfoContext(ctx, "applied an answer")
		a.count(decision.Kind, "applied")
		http.Redirect(a.w, a.r, waitPath(a.ref.id)+"?decision="+url.QueryEscape(decision.DecisionID), http.StatusSeeOther)
		return
	}
	said := explainRefusal(err, decision)
	said.escalation = decision.EscalationID
	if said.sealed != "" {
		said.sealed = a.r.PostForm.Get("about")
	}
	a.log.WarnContext(ctx, "an answer was not applied", "word", said.word, "because", err)
	a.count(decision.Kind, cmp.Or(said.word, "unsettled"))
	if said.word == string(wire.RefusalDuplicate) {
		said.applied = decision.DecisionID
	}
	a.draw(http.StatusConflict, said)
}

// count counts an answer. A kind that is none comes from a form that somebody made up, and is no label.
func (s *Server) count(kind wire.DecisionKind, result string) {
	if !slices.Contains(wire.DecisionKinds(), kind) {
		kind = "none"
	}
	s.options.Metrics.WithTags(map[string]string{"kind": string(kind), "result": result}).Counter("jobwait_inbox_answers").Inc(1)
}

func explainRefusal(err error, decision wire.Decision) reply {
	refusal, refused := waits.Refusal(err)
	switch {
	case refused && refusal.Reason == wire.RefusalDuplicate:
		return reply{tone: "quiet", title: "Already answered", text: refusalText(refusal.Reason), word: string(refusal.Reason)}
	case refused:
		return reply{tone: "bad", title: "Your answer was refused", text: strings.TrimSpace(refusalText(refusal.Reason) + " " + refusal.Detail), word: string(refusal.Reason)}
	case waits.Gone(err):
		return reply{tone: "bad", title: "Your answer came too late", text: "The wait is over; there is nothing to decide any more.", word: string(wire.RefusalNotOpen)}
	case waits.Unsettled(err):
		return reply{
			tone: "warn", title: "Nobody knows yet whether your answer was applied", sealed: "same",
			text: fmt.Sprintf("No worker answered within %s. Send the form once more: it is the same answer (%s) and is applied at most once.", waits.DecideTimeout, decision.DecisionID),
		}
	default:
		return reply{tone: "warn", title: "Your answer could not be sent", text: "Temporal answered: " + err.Error(), sealed: "same"}
	}
}

// newSlip makes the slip of one form.
func (s *Server) newSlip(who access.Person, ref waitRef, escalationID, rawState string, now time.Time) string {
	return s.forms.seal(slip{
		Person: who.Name, WorkflowID: ref.id, EscalationID: escalationID, RawState: rawState, ShownAt: now.UTC(),
		DecisionID: "inbox-" + strings.ToLower(rand.Text()[:16]),
	})
}
