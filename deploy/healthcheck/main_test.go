package main

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestRun(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/healthy" {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}))
	t.Cleanup(server.Close)

	require.NoError(t, run(t.Context(), []string{server.URL + "/healthy"}))
	require.ErrorContains(t, run(t.Context(), []string{server.URL + "/ill"}), "503")
	require.ErrorContains(t, run(t.Context(), []string{"http://127.0.0.1:1/"}), "refused")
	require.ErrorContains(t, run(t.Context(), []string{"::"}), "::")
	require.ErrorContains(t, run(t.Context(), nil), "0 arguments")
}
