package e2e_test

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"

	"github.com/jobwait/jobwait/internal/bed"
	"github.com/jobwait/jobwait/waittest"
	"github.com/jobwait/jobwait/wire"
)

// callingKey is 32 bytes.
const callingKey = "the key of webhooks in this test"

// webhooks is a provider that posts webhooks to a stock worker.
type webhooks struct {
	*testing.T
	url string
}

// calling starts a stock worker that receives the webhooks of a provider, which is demo-export but for its name.
func calling(t *testing.T, queue string) *webhooks {
	t.Helper()
	dir := t.TempDir()
	table := demoAs(t, "called-export")
	write(t, dir, "tables/called-export.yaml", table+`
callback:
  job_id: body.job_id
  when: body.type != "job.noise"
  signature: {scheme: standard_webhooks}
  source: `+regexp.MustCompile(`(?m)^read_only: \{source: (\w+)\}`).FindStringSubmatch(table)[1]+`
  examples: [{name: one, body: {type: job.changed, job_id: exp_71c}, want: {job_id: exp_71c}}]
`)
	write(t, dir, "secret", "whsec_"+base64.StdEncoding.EncodeToString([]byte(callingKey))+"\n")
	file := write(t, dir, "callbacks.yaml", `callbacks: {export: {provider: called-export, account: acct-42, secrets: [{file: secret}]}}
limits: {per_second: 10000, burst: 100000}
`)
	crew := newCrew(t, shared, queue, bed.Key, "--tables", filepath.Join(dir, "tables"), "--callbacks", file, "--callbacks-addr", "127.0.0.1:0")
	worker := crew.start()
	worker.await(within(t), "waiting for work")
	address := regexp.MustCompile(`msg="receiving callbacks" address=(\S+)`).FindStringSubmatch(worker.output.String())
	require.NotNil(t, address, worker.output.String())
	return &webhooks{T: t, url: "http://" + address[1] + "/callbacks/export"}
}

// post sends a webhook about a job, signed with a key at a time.
func (c *webhooks) post(ctx context.Context, job, id, key string, at time.Time) int {
	c.Helper()
	body := fmt.Sprintf(`{"type": "job.changed", "job_id": %q, "state": "succeeded"}`, job)
	unix := strconv.FormatInt(at.Unix(), 10)
	mac := hmac.New(sha256.New, []byte(key))
	_, _ = io.WriteString(mac, id+"."+unix+"."+body)
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url, strings.NewReader(body))
	require.NoError(c, err)
	request.Header.Set("webhook-id", id)
	request.Header.Set("webhook-timestamp", unix)
	request.Header.Set("webhook-signature", "v1,"+base64.StdEncoding.EncodeToString(mac.Sum(nil)))
	answer, err := http.DefaultClient.Do(request)
	require.NoError(c, err)
	defer answer.Body.Close()
	said, err := io.ReadAll(answer.Body)
	require.NoError(c, err)
	require.Empty(c, said)
	return answer.StatusCode
}

// R16, R21: whatever a provider calls, twice, late, forged or in a flood, the wait asks no sooner than it may and no more often than
// once for each interval, and its history grows by a few events.
func TestCallbacks(t *testing.T) {
	t.Parallel()
	queue := afresh("calling")
	c := calling(t, queue)
	w := plan{
		job: queue, queue: queue, spec: func(spec *wire.Spec) {
			slowSchedule(spec)
			spec.Provider = "called-export"
			spec.Schedule.MinDelaySeconds = new(3)
		},
		script: waittest.Script(waittest.State("running").RetryAfter("6"), waittest.State("running"), result(queue)),
	}.begin(t)
	extra := w.asked()

	for i := range 40 {
		require.Equal(t, http.StatusUnauthorized, c.post(w.ctx, w.job, fmt.Sprint("forged-", i), "another key that is 32 bytes long", time.Now()))
		require.Equal(t, http.StatusUnauthorized, c.post(w.ctx, w.job, fmt.Sprint("late-", i), callingKey, time.Now().Add(-time.Hour)))
	}
	require.Equal(t, extra, w.view().Counters.NudgesReceived, "what is not genuine reaches no wait")
	require.Equal(t, http.StatusNoContent, c.post(w.ctx, "nobody-waits", "1", callingKey, time.Now()))
	for range 40 {
		require.Equal(t, http.StatusNoContent, c.post(w.ctx, w.job, "the same", callingKey, time.Now()))
	}

	// A flood of webhooks that all differ goes on until the wait has ended by what they brought forward.
	sent, ended := 0, make(chan wire.Outcome)
	go func() { outcome, _ := w.bed.Outcome(w.ctx, w.latest()); ended <- outcome }()
	var outcome wire.Outcome
	for over := false; !over; {
		select {
		case outcome = <-ended:
			over = true
		default:
			if sent++; sent > 2000 { // the flood has been one by then
				time.Sleep(50 * time.Millisecond)
			}
			require.Equal(t, http.StatusNoContent, c.post(w.ctx, w.job, fmt.Sprint("flood-", sent), callingKey, time.Now()))
		}
	}
	require.Equal(t, wire.StatusSucceeded, outcome.Status)
	require.Equal(t, 3, outcome.StatusRequestsUsed, "the state that the webhooks claimed is not believed")
	require.Equal(t, 2+extra, planned(w.audit(), wire.DelayNudge), "one for each interval")
	require.Greater(t, sent, 100, "it was no flood")
	log := w.log()
	require.GreaterOrEqual(t, log[2].ReceivedAt.Sub(log[1].ReceivedAt), 3*time.Second, "R21")
	w.bounded(12, w.spec.DeadlineAt)

	signals, events := 0, w.history(w.ctx, "").GetEvents()
	for _, event := range events {
		if event.GetEventType() == enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED {
			signals++
		}
	}
	elapsed := outcome.ClosedAt.Sub(outcome.OpenedAt)
	t.Logf("%d webhooks in %s became %d signals; the history has %d events", sent, elapsed.Round(time.Second), signals, len(events))
	require.LessOrEqual(t, signals, 2+extra+int(elapsed/(5*time.Second)), "no more than one in five seconds")

	// After the end it is all the same to the provider, and nobody is woken or begun.
	require.Equal(t, http.StatusNoContent, c.post(w.ctx, w.job, "after the end", callingKey, time.Now()))
	_, err := w.bed.Client.DescribeWorkflow(w.ctx, wire.WorkflowID("called-export", "acct-42", "nobody-waits"), "")
	require.ErrorAs(t, err, new(*serviceerror.NotFound))
	require.Equal(t, outcome, w.outcome())
	require.Len(t, w.log(), 3)
}
