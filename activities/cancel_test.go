package activities

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobwait/jobwait/wire"
)

// R43: one cancel request, at the documented place, with the credential.
func TestCancelAtProvider(t *testing.T) {
	t.Parallel()
	w := newWorld(t, answers(202, "", "Retry-After", "3"))
	result := w.cancel(nil)
	require.True(t, result.Accepted)
	require.False(t, result.Confirmed)
	require.Equal(t, 202, result.HTTPStatus)
	require.EqualValues(t, 3, *result.Guidance.RetryAfterSeconds)
	require.False(t, result.ReceivedAt.Before(*result.SentAt))
	require.Len(t, w.saw(), 1)
	require.Equal(t, http.MethodPost, w.saw()[0].Method)
	require.Equal(t, "/exports/exp_71c/cancel", w.saw()[0].URL.Path)
	require.Equal(t, "Bearer "+marker, w.saw()[0].Header.Get("Authorization"))
}

// D3, R43: another code than the expected ones decides nothing; it is told, and nothing is repeated.
func TestCancelThatIsNotAccepted(t *testing.T) {
	t.Parallel()
	for _, status := range []int{302, 401, 404, 409, 503} {
		w := newWorld(t, answers(status, "", "Location", "/elsewhere"))
		result := w.cancel(nil)
		require.False(t, result.Accepted, status)
		require.Equal(t, status, result.HTTPStatus)
		require.Equal(t, "1", result.CredentialVersion)
		require.Len(t, w.saw(), 1)
	}
}

// R43, R7: a cancel that is done at once is confirmed by an answer of the provider, and not by a code beside which something else
// stands, or nothing that can be read.
func TestCancelIsConfirmedByAWholeAnswer(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		handler   http.HandlerFunc
		confirmed bool
	}{
		"in words":     {answers(200, `{"state": "cancelled"}`), true},
		"without":      {answers(200, ""), true},
		"a page":       {answers(200, "<!DOCTYPE html><title>Sign in</title>"), false},
		"another code": {answers(202, ""), false},
		"a coding":     {answers(200, "?", "Content-Encoding", "br"), false},
		"cut on the way": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "100")
			_, _ = w.Write([]byte("{"))
			hangUp(w)
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, test.handler)
			w.tabled(strings.Replace(begun, "REQUEST", `method: POST, url: "http://127.0.0.1:{params.port}/v1/jobs"`, 1) + `
cancel: {method: POST, url: "http://127.0.0.1:{params.port}/v1/jobs/{job_id}/cancel", expect: [200], asynchronous: false, confirm: {requests: 1, seconds: 60}, source: t}
`)
			result := w.cancel(func(r *wire.CancelRequest) {
				r.Target = w.submitRequest().Target
				r.ProviderJobID = "op-1"
			})
			require.Equal(t, test.confirmed, result.Confirmed, "%+v", result)
			require.Len(t, w.saw(), 1)
		})
	}
}

// R43: unanswered, it is reported and not repeated.
func TestCancelUnanswered(t *testing.T) {
	t.Parallel()
	for detail, handler := range map[string]http.HandlerFunc{
		wire.TransportTimeout: func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
		wire.TransportReset:   func(w http.ResponseWriter, _ *http.Request) { hangUp(w) },
	} {
		w := newWorld(t, handler)
		result := w.cancel(func(r *wire.CancelRequest) { r.TimeoutSeconds = 1 })
		require.Equal(t, detail, result.Detail)
		require.Zero(t, result.HTTPStatus)
		require.NotNil(t, result.SentAt)
		require.Nil(t, result.ReceivedAt)
		require.Len(t, w.saw(), 1)
	}
}

// The guards of a status request are those of a cancel.
func TestCancelDoesNotLeave(t *testing.T) {
	t.Parallel()
	for why, change := range map[wire.NotSent]func(*wire.CancelRequest){
		wire.NotSentHistoryReset:         func(r *wire.CancelRequest) { r.OriginalRunID = "first-run" },
		wire.NotSentTableMissing:         func(r *wire.CancelRequest) { r.Provider = "demo-import" },
		wire.NotSentCredentialDenied:     func(r *wire.CancelRequest) { r.DeniedVersions = []string{"1"} },
		wire.NotSentCredentialUnresolved: func(r *wire.CancelRequest) { r.CredentialRef = "gone" },
		wire.NotSentURLRejected:          func(r *wire.CancelRequest) { r.StatusURL = "http://169.254.169.254/" },
	} {
		w := newWorld(t, answers(202, ""))
		require.Equal(t, why, w.cancel(change).NotSent)
		require.Zero(t, w.connected())
	}
}

func TestCancelWithoutTimeoutIsAProgrammingFault(t *testing.T) {
	t.Parallel()
	w := newWorld(t, answers(202, ""))
	err := w.run(wire.ActivityCancelAtProvider, wire.CancelRequest{Target: w.target()}, nil)
	require.ErrorContains(t, err, "cancel: timeout_seconds 0: at least 1 is needed")
	require.Zero(t, w.connected())
}
