package e2e_test

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"github.com/jobwait/jobwait/internal/bed"
	"github.com/jobwait/jobwait/waittest"
	"github.com/jobwait/jobwait/wire"
)

// marker is a credential that is found wherever it turns up. It could be the name of a provider, too.
const marker = "jwmarker7f3a9c51e0d24b68"

// R14, R50: the credential goes to a provider that throws it back in every way it can. It is in no history, in nothing that
// the worker writes or measures, and in no answer to a query.
func TestCredentialStaysOut(t *testing.T) {
	t.Parallel()
	lab := providerWithKey(t, marker)
	metrics := freeAddress(t)
	worker := newCrew(t, lab, "secrets", marker, "--log-level", "debug", "--metrics-addr", metrics).start()
	w := plan{
		job: "secrets", queue: "secrets", bed: lab, script: waittest.Script(echoes()...),
		spec: func(spec *wire.Spec) {
			spec.Schedule.RequestTimeoutSeconds = new(3)
			spec.Escalation.MaxExtensions = new(5)
			spec.MaxStatusRequests, spec.MaxTransportFailures = 30, 10
		},
	}.begin(t)
	last := ""
	for _, reason := range []wire.Reason{wire.ReasonUnknownState, wire.ReasonMalformedResponse, wire.ReasonAuthorizationDenied} {
		open := w.escalatedAfter(last)
		last = open.ID
		require.Equal(t, reason, open.Reason)
		requireNoLeak(t, marker, map[string]string{"escalation": jsonOf(t, open), "view": jsonOf(t, w.view())})
		answer := extend(open.ID, "d-"+open.ID)
		if reason == wire.ReasonAuthorizationDenied {
			answer.Kind, answer.CredentialRef = wire.DecisionUseCredential, "other"
		}
		w.decide(answer)
	}
	outcome := w.outcome()
	require.Equal(t, wire.StatusSucceeded, outcome.Status)
	require.Equal(t, map[string]int{"200": 6, "401": 1, "503": 1, "timeout": 1}, outcome.Answers)
	for _, entry := range w.log() {
		require.True(t, entry.AuthPresented, "the credential was never sent")
	}

	places := w.places(worker, metrics)
	places["audit"] = jsonOf(t, w.audit())
	require.Contains(t, places["worker's output"], w.spec.OperationID)
	require.Contains(t, places["metrics"], "jobwait_status_requests_total")
	requireNoLeak(t, marker, places)
}

// echoes are answers that hold what the request's Authorization said.
func echoes() []waittest.Step {
	page := "<html>you sent Authorization: Bearer " + marker + "</html>"
	return []waittest.Step{
		waittest.State("queued"),
		{Status: http.StatusServiceUnavailable, Raw: &page, Headers: http.Header{"X-Debug": {marker}, "X-Request-Id": {marker}}},
		waittest.State("running").Delay(6 * time.Second),
		{State: "running", Error: &waittest.JobError{Code: marker, Message: "Bearer " + marker + " is slow"}, Headers: http.Header{"X-Request-Id": {marker}}},
		waittest.State(marker),
		waittest.Raw("text/html", page),
		{Status: http.StatusUnauthorized, Raw: &page, Headers: http.Header{"Www-Authenticate": {`Bearer error="` + marker + `"`}}},
		waittest.State("running").Field("progress", `"`+marker+`"`).Header("Retry-After", marker),
		waittest.Succeeded("https://files.example.com/secrets.csv?key=" + marker),
	}
}

// The search itself: a leak that is planted in each place is found there.
func TestPlantedLeakIsFound(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "leak.yaml"), []byte(table(marker)), 0o600))
	metrics := freeAddress(t)
	worker := newCrew(t, shared, "planted", bed.Key, "--tables", dir, "--metrics-addr", metrics).start()
	w := plan{
		job: "planted", queue: "planted", script: waittest.Script(waittest.State("paused")),
		spec: func(spec *wire.Spec) { spec.Provider = marker },
	}.begin(t)
	open := w.settled()
	require.ElementsMatch(t, []string{"history", "worker's output", "metrics"}, leaks(marker, w.places(worker, metrics)))
	w.decide(decision(wire.DecisionClose, open.ID, "d-1"))
	w.outcome()
}

// The search itself: a state that reads like the secret of another wait is seen in the history.
func TestPlantedLeakInHistory(t *testing.T) {
	t.Parallel()
	w := plan{job: "planted-state", script: waittest.Script(waittest.State(marker))}.begin(t)
	open := w.settled()
	require.Equal(t, []string{"history"}, leaks(marker, map[string]string{"history": w.historyText()}))
	w.decide(decision(wire.DecisionClose, open.ID, "d-1"))
	w.outcome()
}

// R14: a status URL's query is in no audit, log, metric or message; a result reference stands verbatim in the record and the
// outcome alone.
func TestQueriesOfURLsStayOut(t *testing.T) {
	t.Parallel()
	const statusSecret, resultSecret = "jwstatusquery51e0d24b", "jwresultquery7f3a9c51"
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "signed.yaml"), []byte(table("signed-export")), 0o600))
	metrics := freeAddress(t)
	worker := newCrew(t, shared, "queries", bed.Key, "--tables", dir, "--log-level", "debug", "--metrics-addr", metrics).start()
	reference := "https://files.example.com/q.csv?sig=" + resultSecret
	w := plan{
		job: "queries", queue: "queries",
		script: waittest.Script(waittest.State("paused"), waittest.Status(503), waittest.Step{State: "partially_succeeded", ResultURL: reference}),
		spec: func(spec *wire.Spec) {
			spec.Provider = "signed-export"
			spec.StatusURL += "?sig=" + statusSecret
		},
	}.begin(t)
	messages := map[string]string{}
	first := w.escalated()
	messages["first escalation"] = jsonOf(t, first)
	w.decide(extend(first.ID, "d-1"))
	second := w.escalatedAfter(first.ID)
	require.Equal(t, wire.ReasonPartialResult, second.Reason)
	messages["second escalation"] = jsonOf(t, second)
	w.settled()
	w.decide(decision(wire.DecisionAcceptResult, second.ID, "d-2"))
	outcome := w.outcome()
	require.Equal(t, reference, outcome.Result["file"])

	messages["audit"] = jsonOf(t, w.audit())
	messages["notifications"] = w.notifications()
	for name, text := range w.places(worker, metrics) {
		if name != "history" {
			messages[name] = text
		}
	}
	require.Contains(t, messages["notifications"], second.ID)
	requireNoLeak(t, statusSecret, messages)
	requireNoLeak(t, resultSecret, messages)
}

// R14: the query of a status URL that a person attached is in no audit, log, metric, query or message of the submission. The
// wait asks with it, and cannot do without.
func TestQueriesOfAttachedURLsStayOut(t *testing.T) {
	t.Parallel()
	const secret = "jwattachedquery9c51e0d2"
	metrics := freeAddress(t)
	s := lostJob(t, "--log-level", "debug", "--metrics-addr", metrics)
	s.attach.StatusURL += "?sig=" + secret
	s.decide(s.attach)
	outcome := s.outcome()
	require.Equal(t, wire.StatusSucceeded, outcome.Status)
	require.Equal(t, s.attach.StatusURL, outcome.StatusURL, "the outcome has it verbatim")

	messages := s.messages()
	require.Contains(t, messages, "\"kind\":\"decided\"")
	requireNoLeak(t, secret, map[string]string{
		"audit": jsonOf(t, s.audit()), "messages": messages, "view": s.view(), "worker's output": s.worker.output.String(),
		"metrics": get(t, "http://"+metrics+"/metrics"),
	})
}

// messages are what the worker was told to tell people of a submission.
func (s *submitting) messages() string {
	s.Helper()
	history, err := waittest.FetchHistory(s.ctx, s.bed.Client, s.run.GetID(), s.run.GetRunID())
	require.NoError(s, err)
	var text strings.Builder
	for _, event := range history.GetEvents() {
		scheduled := event.GetActivityTaskScheduledEventAttributes()
		if scheduled.GetActivityType().GetName() == wire.ActivityNotify {
			for _, payload := range scheduled.GetInput().GetPayloads() {
				text.Write(payload.GetData())
			}
		}
	}
	return text.String()
}

// view is the query "operation" of a submission.
func (s *submitting) view() string {
	s.Helper()
	view, err := s.bed.Until(s.ctx, s.run, func(wire.OperationView) bool { return true })
	require.NoError(s, err)
	return jsonOf(s.T, view)
}

// X3, R51: a token in a status URL that the table does not allow is not repeated by the refusal.
func TestTokenInRefusedURLStaysOut(t *testing.T) {
	t.Parallel()
	metrics := freeAddress(t)
	worker := newCrew(t, shared, "x3", bed.Key, "--log-level", "debug", "--metrics-addr", metrics).start()
	w := plan{job: "x3", queue: "x3", script: waittest.Script(result("x3")), spec: func(spec *wire.Spec) {
		spec.StatusURL += "?token=" + marker
	}}.begin(t)
	message := w.invalidSpec()
	places := w.places(worker, metrics)
	delete(places, "history") // the input itself stands there
	places["message"] = message
	requireNoLeak(t, marker, places)
}

// providerWithKey is the shared bed with another provider.
func providerWithKey(t *testing.T, key string) *bed.Bed {
	t.Helper()
	provider, err := waittest.NewProvider(waittest.ProviderOptions{Key: key})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, provider.Close()) })
	lab := *shared
	lab.Provider = provider
	return &lab
}

// places are where a secret could come to light: the history of every run, what the worker wrote, what it measures.
func (w *wait) places(worker *process, metrics string) map[string]string {
	w.Helper()
	return map[string]string{
		"history": w.historyText(), "worker's output": worker.output.String(), "metrics": get(w.T, "http://"+metrics+"/metrics"),
	}
}

// historyText holds every byte of the history of all runs: in protobuf, payloads and texts stand as they are.
func (w *wait) historyText() string {
	w.Helper()
	var text strings.Builder
	for _, event := range w.allEvents() {
		raw, err := proto.Marshal(event)
		require.NoError(w, err)
		text.Write(raw)
	}
	return text.String()
}

// notifications are what the worker was told to tell people.
func (w *wait) notifications() string {
	w.Helper()
	var text strings.Builder
	for _, event := range w.allEvents() {
		scheduled := event.GetActivityTaskScheduledEventAttributes()
		if scheduled.GetActivityType().GetName() == wire.ActivityNotify {
			text.WriteString(scheduled.String())
		}
	}
	return text.String()
}

func jsonOf(t *testing.T, value any) string {
	t.Helper()
	text, err := json.Marshal(value)
	require.NoError(t, err)
	return string(text)
}

func requireNoLeak(t *testing.T, secret string, places map[string]string) {
	t.Helper()
	for name, text := range places {
		require.NotEmpty(t, text, name)
	}
	require.Empty(t, leaks(secret, places))
}

// leaks names the places that hold a secret as it is or in a form that it could have left in.
func leaks(secret string, places map[string]string) []string {
	forms := append(base64Forms(secret), secret, hex.EncodeToString([]byte(secret)))
	var found []string
	for name, text := range places {
		for _, form := range forms {
			if strings.Contains(strings.ToLower(text), strings.ToLower(form)) {
				found = append(found, name)
				break
			}
		}
	}
	return found
}

// base64Forms are what base64 makes of the middle of a secret, wherever in a longer text it stands.
func base64Forms(secret string) []string {
	var forms []string
	for before := range 3 {
		encoded := base64.RawStdEncoding.EncodeToString([]byte(strings.Repeat("x", before) + secret))
		forms = append(forms, encoded[(before*8+5)/6:len(encoded)-2])
	}
	return forms
}
