package web

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
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

const maxComment = 4096 // characters, as the core has it

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
	d := readDraft(r.PostForm)
	about, err := s.forms.open(r.PostForm.Get("about"), who.Name, ref.id, time.Now())
	log := s.options.Logger.With("person", who.Name, "groups", who.Groups, "workflow_id", ref.id, "kind", d.kind,
		"escalation_id", about.EscalationID, "decision_id", about.DecisionID, "remote", r.RemoteAddr)
	if err != nil {
		log.WarnContext(r.Context(), "refused an answer", "because", err)
		s.drawWait(w, r, who, ref, http.StatusConflict, reply{
			tone: "bad", title: "Your answer was not sent", text: "The form is too old, or was not made for you by this server. Look at the question again.", draft: d,
		})
		return
	}
	if d.kind != "" && !s.options.Policy.MayAnswer(who, ref.provider, ref.account, d.kind) {
		log.WarnContext(r.Context(), "refused an answer", "because", "no rule allows it")
		s.count(d.kind, "not_allowed")
		s.drawWait(w, r, who, ref, http.StatusForbidden, reply{
			tone: "bad", title: "You may not answer so", text: fmt.Sprintf("No rule of the inbox allows %s this answer for account %q at %q. The refusal was recorded.", who.Name, ref.account, ref.provider), draft: d,
		})
		return
	}
	decision, wrong := d.decision(about)
	if wrong != nil {
		s.drawWait(w, r, who, ref, http.StatusUnprocessableEntity, reply{tone: "bad", title: "Your answer was not sent", text: wrong.text, field: wrong.field, draft: d})
		return
	}
	decision.DecidedBy = who.Name
	if s.options.Sign != nil {
		if decision, err = s.options.Sign(decision); err != nil {
			log.ErrorContext(r.Context(), "cannot sign an answer", "error", err)
			s.fail(w, r, who, http.StatusInternalServerError, "Your answer cannot be signed", "The log of the inbox says why. Nothing was sent.")
			return
		}
	}
	s.send(w, r, who, ref, decision, d, log)
}

func (s *Server) unreadable(w http.ResponseWriter, r *http.Request, who access.Person, err error) {
	s.options.Logger.WarnContext(r.Context(), "refused an answer", "person", who.Name, "because", err, "remote", r.RemoteAddr)
	if errors.As(err, new(*http.MaxBytesError)) {
		s.fail(w, r, who, http.StatusRequestEntityTooLarge, "Your answer is too long", fmt.Sprintf("A comment has at most %d characters.", maxComment))
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
	case utf8.RuneCountInString(d.comment) > maxComment:
		return out, &wrongField{"comment", fmt.Sprintf("The comment has %d characters; at most %d are possible.", utf8.RuneCountInString(d.comment), maxComment)}
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
	switch d.kind { //nolint:exhaustive // the others name nothing
	case wire.DecisionTreatAsPending:
		out.RawState = about.RawState
	case wire.DecisionUseCredential:
		if out.CredentialRef = d.value(d.kind, fieldCredential, ""); out.CredentialRef == "" {
			return out, &wrongField{fieldName(d.kind, fieldCredential), "Name the credential to go on with."}
		}
	case wire.DecisionAttach:
		wrong := d.job(&out) // before out is read: the order within one return is not specified
		return out, wrong
	}
	return out, nil
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
			return &wrongField{name, fmt.Sprintf("What was typed for %q has %d characters; at most %d are possible.", field, n, most)}
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
func (s *Server) send(w http.ResponseWriter, r *http.Request, who access.Person, ref waitRef, decision wire.Decision, d draft, log logger) {
	// Once sent, a decision is seen to its end: whoever goes away finds it in the audit.
	ctx := context.WithoutCancel(r.Context())
	_, err := s.options.Waits.Decide(ctx, ref.id, decision)
	s.lists.forget() // nobody is to be shown what they have answered
	if err == nil {
		log.InfoContext(ctx, "applied an answer")
		s.count(decision.Kind, "applied")
		http.Redirect(w, r, waitPath(ref.id)+"?decision="+url.QueryEscape(decision.DecisionID), http.StatusSeeOther)
		return
	}
	said := s.explainRefusal(err, decision)
	said.draft, said.escalation = d, decision.EscalationID
	if said.sealed != "" {
		said.sealed = r.PostForm.Get("about")
	}
	log.WarnContext(ctx, "an answer was not applied", "word", said.word, "because", err)
	s.count(decision.Kind, cmp.Or(said.word, "unsettled"))
	if said.word == string(wire.RefusalDuplicate) {
		said.applied = decision.DecisionID
	}
	s.drawWait(w, r, who, ref, http.StatusConflict, said)
}

// count counts an answer. A kind that is none comes from a form that somebody made up, and is no label.
func (s *Server) count(kind wire.DecisionKind, result string) {
	if !slices.Contains(wire.DecisionKinds(), kind) {
		kind = "none"
	}
	s.options.Metrics.WithTags(map[string]string{"kind": string(kind), "result": result}).Counter("jobwait_inbox_answers").Inc(1)
}

func (s *Server) explainRefusal(err error, decision wire.Decision) reply {
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
