package e2e_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
	"github.com/stretchr/testify/require"
	workflowpb "go.temporal.io/api/workflow/v1"

	"github.com/jobwait/jobwait/internal/bed"
	"github.com/jobwait/jobwait/notify"
	"github.com/jobwait/jobwait/waittest"
	"github.com/jobwait/jobwait/wire"
)

// receiver is somebody whom a worker tells things.
type receiver struct {
	*httptest.Server

	mu       sync.Mutex
	requests []told
}

type told struct {
	at     time.Time
	header http.Header
	body   []byte
	status int
}

// receive answers the n-th request, counted from 1, as the function says; 0 never answers.
func receive(t *testing.T, status func(n int) int) *receiver {
	t.Helper()
	r := &receiver{}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		body, _ := io.ReadAll(request.Body)
		r.mu.Lock()
		answer := status(len(r.requests) + 1)
		r.requests = append(r.requests, told{time.Now(), request.Header.Clone(), body, answer})
		r.mu.Unlock()
		if answer == 0 {
			<-request.Context().Done()
			return
		}
		if answer >= 300 && answer < 400 {
			w.Header().Set("Location", "/elsewhere/"+marker)
		}
		w.WriteHeader(answer)
	}))
	t.Cleanup(r.Close)
	return r
}

func always(status int) func(int) int { return func(int) int { return status } }

func (r *receiver) saw() []told {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]told(nil), r.requests...)
}

// taken counts by key what the receiver has answered with a 2xx.
func (r *receiver) taken(key string) map[string]int {
	taken := map[string]int{}
	for _, request := range r.saw() {
		if request.status/100 == 2 {
			taken[request.header.Get(key)]++
		}
	}
	return taken
}

const signingKey = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="

// notifying is a crew whose workers tell people by the channels of a file, whose URLs all hold the marker.
func notifying(t *testing.T, queue, metrics string, channels map[string]string) *crew {
	t.Helper()
	file := filepath.Join(t.TempDir(), "notify.yaml")
	text := "base_url: https://inbox.example.com\nchannels:\n"
	c := newCrew(t, shared, queue, bed.Key, "--notify", file, "--log-level", "debug")
	if metrics != "" {
		c.flags = append(c.flags, "--metrics-addr", metrics)
	}
	n := 0
	for name, url := range channels {
		n++
		variable := fmt.Sprintf("WHOLE_URL_%d", n)
		c.env = append(c.env, variable+"="+url+"/"+marker)
		text += fmt.Sprintf("  %s: {webhook: {url: {env: %s}, secrets: [{env: WHOLE_SIGNING}]}}\n", name, variable)
	}
	c.env = append(c.env, "WHOLE_SIGNING="+signingKey)
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	return c
}

// Issue 5: receivers that are down, slow, answer 500 and then 200, redirect. Whoever is there is told once; the wait goes on as
// if nobody were told anything; and nothing of a URL or a secret comes to light.
func TestNotificationsNeverHoldUpAWait(t *testing.T) {
	t.Parallel()
	fine, slow, moved := receive(t, always(200)), receive(t, always(0)), receive(t, always(307))
	shaky := receive(t, func(n int) int {
		if n == 1 {
			return 500
		}
		return 200
	})
	metrics := freeAddress(t)
	worker := notifying(t, "notify", metrics, map[string]string{
		"fine": fine.URL, "shaky": shaky.URL, "slow": slow.URL, "moved": moved.URL, "down": "http://" + freeAddress(t),
	}).start()
	w := plan{job: "notify", queue: "notify", script: waittest.Script(waittest.State("archiving"), result("notify"))}.begin(t)

	open := w.escalated()
	w.eventually("the shaky one has it", func() bool { return len(shaky.taken("webhook-id")) == 1 })
	decidedAt := time.Now()
	w.decide(extend(open.ID, "d-1"))
	outcome := w.outcome()
	require.Equal(t, wire.StatusSucceeded, outcome.Status)
	require.Less(t, time.Since(decidedAt), 30*time.Second, "the next poll is due two seconds after the answer")
	require.Contains(t, jsonOf(t, w.audit()), "still being delivered", "it ended without those who do not answer")

	w.eventually("all is told", func() bool { return len(fine.taken("webhook-id")) == 3 && len(shaky.taken("webhook-id")) == 3 })
	for _, r := range []*receiver{fine, shaky} {
		for key, times := range r.taken("webhook-id") {
			require.Equal(t, 1, times, key)
		}
	}
	require.Equal(t, shaky.saw()[0].header.Get("webhook-id"), shaky.saw()[1].header.Get("webhook-id"))
	w.requireTold(fine, map[string]bool{"wait.escalated": true, "wait.decided": true, "wait.ended": true})
	require.NotEmpty(t, slow.saw())
	for _, request := range moved.saw() {
		require.Equal(t, 307, request.status)
	}

	places := w.places(worker, metrics)
	places["audit"] = jsonOf(t, w.audit())
	require.Contains(t, places["metrics"], `jobwait_notifications_total{activity_type="jobwait.Notify",channel="down"`)
	requireNoLeak(t, marker, places)
	requireNoLeak(t, signingKey[len("whsec_"):], places)
}

// requireTold wants these types of events, each signed, about this wait, with a link to its page.
func (w *wait) requireTold(r *receiver, types map[string]bool) {
	w.Helper()
	verifier, err := standardwebhooks.NewWebhook(signingKey)
	require.NoError(w, err)
	got := map[string]bool{}
	for _, request := range r.saw() {
		require.NoError(w, verifier.Verify(request.body, request.header))
		var event notify.Event
		require.NoError(w, json.Unmarshal(request.body, &event))
		got[event.Type] = true
		require.Equal(w, w.id(), event.Data.WorkflowID)
		require.Equal(w, "https://inbox.example.com/waits/jobwait%2Fdemo-export%2Facct-42%2F"+w.job, event.Data.URL)
		if outcome := event.Data.Briefing.Outcome; outcome != nil {
			require.Empty(w, outcome.Result, "a reference may be a signed link")
		}
	}
	require.Equal(w, types, got)
}

// A worker that is lost between two attempts does not make another one send again what was delivered: heartbeats carry it.
func TestDeliveredSurvivesTheWorker(t *testing.T) {
	t.Parallel()
	fine, dead := receive(t, always(200)), receive(t, always(503))
	crew := notifying(t, "notify-kill", "", map[string]string{"fine": fine.URL, "dead": dead.URL})
	first := crew.start()
	w := plan{job: "notify-kill", queue: "notify-kill", script: waittest.Script(waittest.State("archiving"))}.begin(t)
	open := w.escalated()
	w.eventually("one attempt was made", func() bool { return len(dead.saw()) > 0 })
	w.eventually("the server knows", func() bool {
		return w.pendingNotice().GetHeartbeatDetails() != nil && w.pendingNotice().GetAttempt() > 1
	})
	first.kill()
	before := len(dead.saw())
	crew.start()
	w.eventually("another worker goes on", func() bool { return len(dead.saw()) > before })
	require.Len(t, fine.saw(), 1)
	require.Contains(t, w.pendingNotice().GetLastFailure().GetMessage(), "not delivered: dead (HTTP 503); delivered: fine")

	w.decide(decision(wire.DecisionClose, open.ID, "d-1"))
	require.Equal(t, wire.StatusUnresolved, w.outcome().Status)
	require.Contains(t, jsonOf(t, w.audit()), "still being delivered")
}

// What is told of an end is told by a workflow that outlives the wait, for an hour if need be.
func TestTheEndIsToldAfterwards(t *testing.T) {
	t.Parallel()
	shaky := receive(t, func(n int) int {
		if n < 3 {
			return 502
		}
		return 200
	})
	notifying(t, "notify-end", "", map[string]string{"shaky": shaky.URL}).start()
	w := plan{job: "notify-end", queue: "notify-end", script: waittest.Script(waittest.Failed("E1", "disk full"))}.begin(t)
	require.Equal(t, wire.StatusFailed, w.outcome().Status)
	require.Empty(t, shaky.taken("webhook-id"), "nobody has been told yet, and the outcome is there")
	started := w.history(w.ctx, "")
	child := ""
	for _, event := range started.GetEvents() {
		if attributes := event.GetChildWorkflowExecutionStartedEventAttributes(); attributes != nil {
			child = attributes.GetWorkflowExecution().GetWorkflowId()
		}
	}
	require.NotEmpty(t, child)
	var result wire.NotifyResult
	require.NoError(t, w.bed.Client.GetWorkflow(w.ctx, child, "").Get(w.ctx, &result))
	require.Equal(t, wire.DeliveryDelivered, result.Channels[0].State)
	require.Equal(t, 3, result.Channels[0].Attempts)
	require.Len(t, shaky.taken("webhook-id"), 1)
}

// pendingNotice is the message that is under way.
func (w *wait) pendingNotice() *workflowpb.PendingActivityInfo {
	w.Helper()
	described, err := w.bed.Client.DescribeWorkflow(w.ctx, w.id(), "")
	require.NoError(w, err)
	for _, pending := range described.RawResponse.GetPendingActivities() {
		if pending.GetActivityType().GetName() == wire.ActivityNotify {
			return pending
		}
	}
	return nil
}

// eventually looks until it sees, within the time of the test.
func (w *wait) eventually(what string, look func() bool) {
	w.Helper()
	require.NoError(w, eventually(w.ctx, look), what)
}
