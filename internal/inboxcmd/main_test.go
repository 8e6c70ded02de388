package inboxcmd

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/stretchr/testify/require"

	"github.com/jobwait/jobwait/internal/devserver"
	"github.com/jobwait/jobwait/internal/scripttest"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"inbox": Main})
}

// What can be wrong before anything connects.
func TestScript(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{Dir: "testdata/script", RequireExplicitExec: true, RequireUniqueNames: true, Cmds: scripttest.Commands()})
}

// The command says where it is, serves, and ends when it is told to, live updates included.
func TestRun(t *testing.T) {
	found, err := devserver.Find(t.Context(), os.Stderr)
	require.NoError(t, err)
	server, err := devserver.Start(t.Context(), devserver.Options{Executable: found, SearchAttributes: true})
	require.NoError(t, err)
	t.Cleanup(func() { _ = server.Stop() })
	t.Setenv("TEMPORAL_ADDRESS", server.Address)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	out, in := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		ended <- run(ctx, []string{"--local", "--as", "ana", "--addr", "127.0.0.1:0"}, in, io.Discard)
		_ = in.Close()
	}()
	lines := bufio.NewScanner(out)
	require.True(t, lines.Scan())
	address := regexp.MustCompile(`^inbox at (http://127\.0\.0\.1:\d+), for Temporal at `).FindStringSubmatch(lines.Text())
	require.NotNil(t, address, lines.Text())
	require.True(t, lines.Scan())
	require.Equal(t, `local mode: whoever reaches the loopback of this machine decides as "ana"`, lines.Text())

	for path, want := range map[string]int{"/healthz": http.StatusOK, "/": http.StatusOK, "/live/list/decide": http.StatusOK} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address[1]+path, nil)
		require.NoError(t, err)
		answer, err := http.DefaultClient.Do(request)
		require.NoError(t, err)
		t.Cleanup(func() { _ = answer.Body.Close() })
		require.Equal(t, want, answer.StatusCode, path)
	}
	stop()
	select {
	case err := <-ended:
		require.NoError(t, err)
	case <-time.After(20 * time.Second):
		require.Fail(t, "the inbox did not end")
	}
}

// With a certificate it speaks https itself.
func TestRunSpeaksHTTPS(t *testing.T) {
	found, err := devserver.Find(t.Context(), os.Stderr)
	require.NoError(t, err)
	server, err := devserver.Start(t.Context(), devserver.Options{Executable: found, SearchAttributes: true})
	require.NoError(t, err)
	t.Cleanup(func() { _ = server.Stop() })
	t.Setenv("TEMPORAL_ADDRESS", server.Address)
	made := httptest.NewTLSServer(nil) // has a certificate for 127.0.0.1
	defer made.Close()
	cert, key := writePair(t, made.TLS.Certificates[0])
	ctx, stop := context.WithCancel(t.Context())
	out, in := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		ended <- run(ctx, []string{"--local", "--as", "ana", "--addr", "127.0.0.1:0", "--tls-cert", cert, "--tls-key", key}, in, io.Discard)
	}()
	lines := bufio.NewScanner(out)
	require.True(t, lines.Scan())
	address := regexp.MustCompile(`^inbox at (https://127\.0\.0\.1:\d+), `).FindStringSubmatch(lines.Text())
	require.NotNil(t, address, lines.Text())
	go func() { _, _ = io.Copy(io.Discard, out) }()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address[1]+"/", nil)
	require.NoError(t, err)
	answer, err := made.Client().Do(request)
	require.NoError(t, err)
	defer answer.Body.Close()
	require.Equal(t, http.StatusOK, answer.StatusCode)
	stop()
	require.NoError(t, <-ended)
}

// writePair writes a certificate and its key into files.
func writePair(t *testing.T, pair tls.Certificate) (cert, key string) {
	t.Helper()
	der, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
	require.NoError(t, err)
	cert, key = filepath.Join(t.TempDir(), "cert.pem"), filepath.Join(t.TempDir(), "key.pem")
	require.NoError(t, os.WriteFile(cert, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: pair.Certificate[0]}), 0o600))
	require.NoError(t, os.WriteFile(key, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), 0o600))
	return cert, key
}
