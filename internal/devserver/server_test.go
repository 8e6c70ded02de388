package devserver

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/sdk/client"
)

func TestServerServesDiesAndGoesOnFromItsFile(t *testing.T) {
	t.Parallel()
	executable, err := Find(t.Context(), os.Stderr)
	require.NoError(t, err)
	opts := Options{
		Executable: executable, Namespace: "waits", DBFilename: filepath.Join(t.TempDir(), "temporal.db"), UI: true,
		SearchAttributes: true, FastTimers: true, DynamicConfig: []string{`limit.maxIDLength=1000`},
	}

	first := startServer(t, opts)
	require.Equal(t, net.JoinHostPort("127.0.0.1", fmt.Sprint(first.Port)), first.Address)
	requireUI(t, first.UIAddress)
	requireAttributes(t, first)
	startWorkflow(t, first)
	require.NoError(t, first.Kill())
	requireClosed(t, first.Exited())

	opts.Port = first.Port
	second := startServer(t, opts)
	require.Equal(t, first.Address, second.Address)
	requireWorkflow(t, second)
	_, err = Start(t.Context(), opts)
	require.ErrorContains(t, err, "choose another", "a running server passed for a new one")
	require.NoError(t, second.Stop())
	requireClosed(t, second.Exited())
	require.NoError(t, second.Stop(), "stopping again")
	require.True(t, second.cmd.ProcessState.Success(), "a graceful stop is no kill: %s", second.cmd.ProcessState)
}

func TestStartShowsWhyTheServerDied(t *testing.T) {
	t.Parallel()
	needsShell(t)
	logs := filepath.Join(t.TempDir(), "log")
	file, err := os.Create(logs)
	require.NoError(t, err)
	defer file.Close()
	bad := Executable{Path: script(t, "echo 'unknown flag: --ip' >&2; exit 64")}

	_, err = Start(t.Context(), Options{Executable: bad, LogWriter: file})
	var exit *ExitError
	require.ErrorAs(t, err, &exit)
	require.Equal(t, "unknown flag: --ip", exit.Stderr)
	require.ErrorContains(t, err, "exit status 64")
	require.ErrorContains(t, err, "unknown flag: --ip")
	written, err := os.ReadFile(logs)
	require.NoError(t, err)
	require.Equal(t, "unknown flag: --ip\n", string(written))
}

func TestStartTriesAnotherPortOnlyForOneItChose(t *testing.T) {
	t.Parallel()
	needsShell(t)
	for name, c := range map[string]struct{ port, want int }{"chosen": {0, portAttempts}, "given": {freePort(t), 1}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tries := filepath.Join(t.TempDir(), "tries")
			taken := Executable{Path: script(t, "echo try >>"+tries+"; echo 'bind: address already in use' >&2; exit 1")}
			_, err := Start(t.Context(), Options{Executable: taken, Port: c.port})
			require.ErrorContains(t, err, "address already in use")
			content, err := os.ReadFile(tries)
			require.NoError(t, err)
			require.Len(t, content, c.want*len("try\n"))
		})
	}
}

func TestStartEndsAServerThatNeverBecomesReady(t *testing.T) {
	t.Parallel()
	needsShell(t)
	silent := Executable{Path: script(t, "exec tail -f /dev/null")}
	server, err := newServer(t.Context(), Options{Executable: silent})
	require.NoError(t, err)
	require.NoError(t, server.launch())
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, server.awaitReady(cancelled), context.Canceled)
	require.NoError(t, server.Kill())
	requireClosed(t, server.Exited())
}

func TestOwnStateGoesWithTheServer(t *testing.T) {
	t.Parallel()
	executable, err := Find(t.Context(), os.Stderr)
	require.NoError(t, err)
	for name, end := range map[string]func(*Server) error{"stopped": (*Server).Stop, "killed": (*Server).Kill} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := startServer(t, Options{Executable: executable})
			require.FileExists(t, filepath.Join(server.dir, "temporal.db"))
			require.NoError(t, end(server))
			require.NoDirExists(t, server.dir)
		})
	}
}

func TestOptionsValidate(t *testing.T) {
	t.Parallel()
	some := Executable{Path: "/usr/bin/temporal"}
	cases := map[string]struct {
		give Options
		want string
	}{
		"no executable":  {Options{}, "no executable given"},
		"port":           {Options{Executable: some, Port: 65536}, "port 65536"},
		"UI port":        {Options{Executable: some, UI: true, UIPort: -1}, "UI port -1"},
		"UI off":         {Options{Executable: some, UIPort: 8080}, "UI port 8080"},
		"two states":     {Options{Executable: some, InMemory: true, DBFilename: "x.db"}, "in memory and in x.db"},
		"dynamic config": {Options{Executable: some, DynamicConfig: []string{"a=1", "b"}}, `dynamic config "b"`},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := Start(t.Context(), c.give)
			require.ErrorContains(t, err, c.want)
		})
	}
}

func TestArguments(t *testing.T) {
	t.Parallel()
	s := &Server{Port: 7233, Namespace: "default"}
	plain := s.arguments(Options{}, 0)
	require.Contains(t, plain, "--headless")
	require.Contains(t, plain, "frontend.enableServerVersionCheck=false")
	require.NotContains(t, plain, `history.timerProcessorMaxTimeShift="10ms"`)
	require.NotContains(t, plain, "--search-attribute")

	full := s.arguments(Options{UI: true, FastTimers: true, SearchAttributes: true, DBFilename: "x.db", DynamicConfig: []string{"k=1"}}, 8233)
	require.NotContains(t, full, "--headless")
	for _, want := range []string{"8233", `history.timerProcessorMaxTimeShift="10ms"`, "JobWaitDecideBy=Datetime", "x.db", "journal_mode=WAL", "k=1"} {
		require.Contains(t, full, want)
	}
}

func startServer(t *testing.T, opts Options) *Server {
	t.Helper()
	server, err := Start(t.Context(), opts)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, server.Stop()) })
	return server
}

func dial(t *testing.T, server *Server) client.Client {
	t.Helper()
	c, err := client.DialContext(t.Context(), client.Options{HostPort: server.Address, Namespace: server.Namespace})
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return c
}

func startWorkflow(t *testing.T, server *Server) {
	t.Helper()
	_, err := dial(t, server).ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{ID: "kept", TaskQueue: "nobody"}, "Anything")
	require.NoError(t, err)
}

func requireWorkflow(t *testing.T, server *Server) {
	t.Helper()
	described, err := dial(t, server).DescribeWorkflow(t.Context(), "kept", "")
	require.NoError(t, err)
	require.Equal(t, enums.WORKFLOW_EXECUTION_STATUS_RUNNING, described.Status)
}

func requireAttributes(t *testing.T, server *Server) {
	t.Helper()
	registered, err := dial(t, server).OperatorService().ListSearchAttributes(t.Context(),
		&operatorservice.ListSearchAttributesRequest{Namespace: server.Namespace})
	require.NoError(t, err)
	for name, want := range map[string]enums.IndexedValueType{
		"JobWaitProvider": enums.INDEXED_VALUE_TYPE_KEYWORD, "JobWaitPhase": enums.INDEXED_VALUE_TYPE_KEYWORD,
		"JobWaitReason": enums.INDEXED_VALUE_TYPE_KEYWORD, "JobWaitDecideBy": enums.INDEXED_VALUE_TYPE_DATETIME,
	} {
		require.Equal(t, want, registered.GetCustomAttributes()[name], name)
	}
}

func requireUI(t *testing.T, url string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	require.NoError(t, err)
	response, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	require.Equal(t, http.StatusOK, response.StatusCode)
}

func requireClosed(t *testing.T, done <-chan struct{}) {
	t.Helper()
	select {
	case <-done:
	default:
		require.Fail(t, "the process is still there")
	}
}

func freePort(t *testing.T) int {
	t.Helper()
	port, err := claimPort(t.Context(), 0)
	require.NoError(t, err)
	return port
}
