package devserver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/jobwait/jobwait/wire"
)

const (
	host             = "127.0.0.1"
	defaultNamespace = "default"
	// A server is ready in well under a second; this allows for a loaded machine.
	startTimeout = 20 * time.Second
	// A server stops in under two seconds; after this time it is killed.
	stopTimeout = 15 * time.Second
	// A free port can be taken between its choice and its use.
	portAttempts = 3
)

// Options configure a development server. Only Executable is required.
type Options struct {
	// Executable is what [Find] returned.
	Executable Executable
	// Namespace is created and waited for. Empty means "default".
	Namespace string
	// Port is the port of the server's gRPC interface on 127.0.0.1; 0 means a free one.
	Port int
	// UI serves Temporal's Web UI as well, on UIPort; 0 means a free one.
	UI     bool
	UIPort int
	// DBFilename is the SQLite file that keeps the state, so that a server that is started later with the same file (and the same
	// port, if clients are to reconnect) continues from there. After Kill, everything that the server had acknowledged is still there;
	// after a power failure that is not promised. Empty means a temporary file, which is deleted when the server ends.
	DBFilename string
	// InMemory keeps the state in memory instead of a file. Such a server can lose all of it, including its namespace, if a caller
	// goes away in the middle of a transaction (temporalio/temporal, pull request 10427).
	InMemory bool
	// SearchAttributes registers the search attributes that jobwait writes. Without them its workflows run, and report that they are
	// not registered.
	SearchAttributes bool
	// FastTimers makes timers of less than a second fire when they are due. A stock server fires them after about a second.
	FastTimers bool
	// DynamicConfig lists further server settings, each KEY=VALUE with a JSON value.
	DynamicConfig []string
	// LogWriter receives the server's output; nil discards it.
	LogWriter io.Writer
	// Progress receives a line about what starts and where; nil discards it.
	Progress io.Writer
}

// Validate returns an error for the first option that cannot be used.
func (o Options) Validate() error {
	if o.Executable.Path == "" {
		return errors.New("devserver: no executable given; take the one that Find returns")
	}
	for name, port := range map[string]int{"port": o.Port, "UI port": o.UIPort} {
		if port < 0 || port > 65535 {
			return fmt.Errorf("devserver: %s %d is not between 0 and 65535", name, port)
		}
	}
	if o.UIPort != 0 && !o.UI {
		return fmt.Errorf("devserver: UI port %d is given but the UI is off; set UI", o.UIPort)
	}
	if o.InMemory && o.DBFilename != "" {
		return fmt.Errorf("devserver: state in memory and in %s; choose one", o.DBFilename)
	}
	for _, setting := range o.DynamicConfig {
		if key, _, ok := strings.Cut(setting, "="); !ok || key == "" {
			return fmt.Errorf("devserver: dynamic config %q is not KEY=VALUE", setting)
		}
	}
	return nil
}

// Server is a running development server.
type Server struct {
	// Address is the host:port for Temporal clients.
	Address string
	// UIAddress is the URL of the Web UI; empty if it is not served.
	UIAddress string
	// Namespace is the namespace, which exists and answers.
	Namespace string
	// Port is the gRPC port, for restarting the server on the same one.
	Port int

	cmd    *exec.Cmd
	dir    string // of the server's own state; empty if it has none
	stderr *tail
	exited chan struct{}
	result error // of the child; read only after exited is closed
}

// ExitError reports a server that ended by itself.
type ExitError struct {
	Err    error  // how the process ended; nil for exit code 0
	Stderr string // the end of what it wrote to stderr
}

func (e *ExitError) Error() string {
	how := "exit status 0"
	if e.Err != nil {
		how = e.Err.Error()
	}
	return fmt.Sprintf("devserver: the server ended by itself (%s); its last words:\n%s", how, e.Stderr)
}

func (e *ExitError) Unwrap() error { return e.Err }

// Start runs a server and returns once its frontend serves and its namespace answers, which must happen within 20 seconds. The
// context bounds the start, not the server's life: call Stop. If the server dies meanwhile, the error is an [*ExitError].
func Start(ctx context.Context, opts Options) (*Server, error) {
	if err := opts.Validate(); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	for attempt := 1; ; attempt++ {
		server, err := start(ctx, opts)
		if err == nil || attempt == portAttempts || !lostFreePort(opts, err) {
			return server, err
		}
	}
}

// lostFreePort reports whether another process took a port that this package had chosen.
func lostFreePort(opts Options, err error) bool {
	var exit *ExitError
	chosen := opts.Port == 0 || (opts.UI && opts.UIPort == 0)
	return chosen && errors.As(err, &exit) && strings.Contains(exit.Stderr, "address already in use")
}

func start(ctx context.Context, opts Options) (*Server, error) {
	s, err := newServer(ctx, opts)
	if err == nil {
		err = s.launch()
	}
	if err != nil {
		return nil, errors.Join(err, s.forget())
	}
	if err := s.awaitReady(ctx); err != nil {
		return nil, errors.Join(err, s.Kill())
	}
	s.announce(opts)
	return s, nil
}

func newServer(ctx context.Context, opts Options) (*Server, error) {
	s := &Server{Namespace: opts.Namespace, stderr: new(tail), exited: make(chan struct{})}
	if s.Namespace == "" {
		s.Namespace = defaultNamespace
	}
	var err error
	if s.Port, err = claimPort(ctx, opts.Port); err != nil {
		return s, err
	}
	s.Address = net.JoinHostPort(host, strconv.Itoa(s.Port))
	uiPort := 0
	if opts.UI {
		if uiPort, err = claimPort(ctx, opts.UIPort); err != nil {
			return s, err
		}
		s.UIAddress = "http://" + net.JoinHostPort(host, strconv.Itoa(uiPort))
	}
	if !opts.InMemory && opts.DBFilename == "" {
		if s.dir, err = os.MkdirTemp("", "jobwait-temporal-"); err != nil {
			return s, fmt.Errorf("devserver: %w", err)
		}
		opts.DBFilename = filepath.Join(s.dir, "temporal.db")
	}
	s.cmd = s.command(context.WithoutCancel(ctx), opts, uiPort) // the context bounds the start alone
	return s, nil
}

// claimPort finds a free port, or makes sure that the wanted one is free, so that another server that listens there is not mistaken
// for ours.
func claimPort(ctx context.Context, want int) (int, error) {
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", net.JoinHostPort(host, strconv.Itoa(want)))
	if err != nil {
		return 0, fmt.Errorf("devserver: port %d of %s: %w; choose another, or 0 for a free one", want, host, err)
	}
	defer listener.Close()
	return listener.Addr().(*net.TCPAddr).Port, nil
}

func (s *Server) command(ctx context.Context, opts Options, uiPort int) *exec.Cmd {
	cmd := exec.CommandContext(ctx, opts.Executable.Path, s.arguments(opts, uiPort)...)
	cmd.SysProcAttr = childAttributes()
	// Never the caller's own file: a child that inherits it keeps a `go test` waiting after a crash.
	cmd.Stderr = s.stderr
	if opts.LogWriter != nil {
		cmd.Stdout, cmd.Stderr = onlyWriter{opts.LogWriter}, io.MultiWriter(s.stderr, opts.LogWriter)
	}
	return cmd
}

// onlyWriter hides that a writer is a file.
type onlyWriter struct{ io.Writer }

func (s *Server) arguments(opts Options, uiPort int) []string {
	args := []string{
		"server", "start-dev", "--ip", host, "--port", strconv.Itoa(s.Port), "--namespace", s.Namespace, "--log-level", "warn",
	}
	if opts.UI {
		args = append(args, "--ui-port", strconv.Itoa(uiPort))
	} else {
		args = append(args, "--headless")
	}
	if opts.DBFilename != "" { // with these, about as fast as in memory
		args = append(args, "--db-filename", opts.DBFilename, "--sqlite-pragma", "journal_mode=WAL", "--sqlite-pragma", "synchronous=NORMAL")
	}
	for _, setting := range settings(opts) {
		args = append(args, "--dynamic-config-value", setting)
	}
	for _, attribute := range attributes(opts) {
		args = append(args, "--search-attribute", attribute)
	}
	return args
}

func settings(opts Options) []string {
	all := []string{
		"frontend.enableServerVersionCheck=false", // a local server has no business on the network
		`system.namespaceCacheRefreshInterval="1s"`,
	}
	if opts.FastTimers {
		all = append(all, `history.timerProcessorMaxTimeShift="10ms"`)
	}
	return append(all, opts.DynamicConfig...)
}

func attributes(opts Options) []string {
	if !opts.SearchAttributes {
		return nil
	}
	return []string{
		wire.AttributeProvider + "=Keyword",
		wire.AttributePhase + "=Keyword",
		wire.AttributeReason + "=Keyword",
		wire.AttributeDecideBy + "=Datetime",
	}
}

// launch starts the child on a thread that lives as long as the child: Linux sends the parent-death signal when the thread that
// started it ends, and a locked thread ends only with its goroutine.
func (s *Server) launch() error {
	started := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		err := s.cmd.Start()
		started <- err
		if err != nil {
			return
		}
		s.result = errors.Join(s.cmd.Wait(), s.forget())
		close(s.exited)
	}()
	if err := <-started; err != nil {
		return fmt.Errorf("devserver: %w", err)
	}
	return nil
}

// forget removes the server's own state.
func (s *Server) forget() error {
	if s.dir == "" {
		return nil
	}
	return os.RemoveAll(s.dir)
}

func (s *Server) announce(opts Options) {
	if opts.Progress == nil {
		return
	}
	_, _ = fmt.Fprintf(opts.Progress, "Temporal server %s at %s\n", opts.Executable.ServerVersion, s.Address)
	if s.UIAddress != "" {
		_, _ = fmt.Fprintf(opts.Progress, "Temporal Web UI at %s\n", s.UIAddress)
	}
}

// PID returns the id of the server's process.
func (s *Server) PID() int { return s.cmd.Process.Pid }

// Exited returns a channel that is closed when the server's process has ended, for whatever reason.
func (s *Server) Exited() <-chan struct{} { return s.exited }

// Stop ends the server and waits for it; after 15 seconds it is killed. It may be called again.
func (s *Server) Stop() error {
	if err := s.cmd.Process.Signal(os.Interrupt); err != nil {
		return s.Kill() // gone already, or a system that cannot interrupt
	}
	select {
	case <-s.exited:
		return nil
	case <-time.After(stopTimeout):
		return s.Kill()
	}
}

// Kill ends the server at once, as a crash would, and waits until it is gone. Only state in [Options.DBFilename] survives.
func (s *Server) Kill() error {
	if err := s.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("devserver: killing process %d: %w", s.cmd.Process.Pid, err)
	}
	<-s.exited
	return nil
}
