package terminal

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/creack/pty"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"

	"github.com/jobwait/jobwait/internal/bed"
	"github.com/jobwait/jobwait/internal/devserver"
	"github.com/jobwait/jobwait/internal/startercmd"
	"github.com/jobwait/jobwait/waittest"
	"github.com/jobwait/jobwait/wire"
)

// asStarter makes the test binary the starter.
const asStarter = "JOBWAIT_TEST_AS_STARTER"

// patience bounds what a test waits for; none needs a tenth of it on an idle machine.
const patience = 90 * time.Second

var shared *bed.Bed

func TestMain(m *testing.M) {
	if os.Getenv(asStarter) != "" {
		startercmd.Main()
	}
	os.Exit(run(m))
}

func run(m *testing.M) int {
	ctx, cancel := context.WithTimeout(context.Background(), 25*time.Minute)
	defer cancel()
	made, err := bed.Open(ctx, bed.Options{Progress: os.Stderr, Server: devserver.Options{SearchAttributes: true, FastTimers: true}})
	if err != nil {
		fmt.Fprintln(os.Stderr, "terminal:", err)
		return 1
	}
	defer made.Close()
	stop, err := made.Work(bed.WorkerOptions{})
	if err != nil {
		fmt.Fprintln(os.Stderr, "terminal:", err)
		return 1
	}
	defer stop()
	shared = made
	return m.Run()
}

// session is the starter with somebody at its terminal.
type session struct {
	t   *testing.T
	cmd *exec.Cmd
	tty *os.File

	mu      sync.Mutex
	output  strings.Builder
	changed chan struct{}
	ended   chan struct{}
	// read is how much of the output was looked at.
	read int
}

func starter(t *testing.T, columns int, arguments ...string) *session {
	t.Helper()
	s := &session{t: t, changed: make(chan struct{}, 1), ended: make(chan struct{})}
	s.cmd = command(t, arguments...)
	tty, err := pty.StartWithSize(s.cmd, &pty.Winsize{Rows: 40, Cols: uint16(columns)})
	require.NoError(t, err)
	s.tty = tty
	go s.listen()
	t.Cleanup(func() {
		_ = s.cmd.Process.Kill() // it may have ended
		<-s.ended
		_ = tty.Close()
	})
	return s
}

// command is the starter, not started yet.
func command(t *testing.T, arguments ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), os.Args[0], arguments...)
	cmd.Env = append(os.Environ(), asStarter+"=1", "TEMPORAL_ADDRESS="+shared.Server.Address, "TEMPORAL_NAMESPACE="+shared.Namespace, "USER=ana@example.com")
	return cmd
}

func (s *session) listen() {
	defer close(s.ended)
	buffer := make([]byte, 4096)
	for {
		n, err := s.tty.Read(buffer)
		s.mu.Lock()
		s.output.Write(buffer[:n])
		s.mu.Unlock()
		select {
		case s.changed <- struct{}{}:
		default:
		}
		if err != nil { // the other end is closed: EIO on Linux, EOF elsewhere
			_ = s.cmd.Wait()
			return
		}
	}
}

// text is everything that was written, as a person sees it.
func (s *session) text() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.ReplaceAll(s.output.String(), "\r\n", "\n")
}

// sees waits until a text comes behind what was seen before.
func (s *session) sees(want string) {
	s.t.Helper()
	s.until(want, func(text string) bool {
		at := strings.Index(text[min(s.read, len(text)):], want)
		if at >= 0 {
			s.read += at + len(want)
		}
		return at >= 0
	})
}

func (s *session) until(what string, look func(text string) bool) {
	s.t.Helper()
	end := time.NewTimer(patience)
	defer end.Stop()
	for !look(s.text()) {
		select {
		case <-s.changed:
		case <-s.ended:
			if !look(s.text()) {
				require.FailNow(s.t, "the starter ended", "waiting for %q:\n%s", what, s.text())
			}
			return
		case <-end.C:
			require.FailNow(s.t, "never seen", "waiting for %q:\n%s", what, s.text())
		}
	}
}

// types types a line.
func (s *session) types(line string) {
	s.t.Helper()
	s.presses(line + "\n")
}

func (s *session) presses(keys string) {
	s.t.Helper()
	_, err := io.WriteString(s.tty, keys)
	require.NoError(s.t, err)
}

// answers chooses an option that needs nothing but a comment.
func (s *session) answers(option, comment string, costs ...string) {
	s.t.Helper()
	s.sees("which, by number")
	s.types(option)
	s.confirms(comment, costs...)
}

// confirms says why, sees what the answer costs, and has it applied.
func (s *session) confirms(comment string, costs ...string) {
	s.t.Helper()
	s.sees("why (it stands in the audit)?")
	s.types(comment)
	for _, cost := range costs {
		s.sees(cost)
	}
	s.sees("apply it? [y/N]")
	s.types("y")
	s.sees("applied: ")
	require.Zero(s.t, s.code())
}

const (
	ctrlC = "\x03"
	ctrlD = "\x04"
)

// code waits for the end.
func (s *session) code() int {
	s.t.Helper()
	select {
	case <-s.ended:
	case <-time.After(patience):
		require.FailNow(s.t, "the starter does not end", s.text())
	}
	return s.cmd.ProcessState.ExitCode()
}

// question is a wait that asks.
type question struct {
	t    *testing.T
	job  string
	run  client.WorkflowRun
	open wire.EscalationView
}

// ask begins a wait for a job of that name and waits until it asks.
func ask(t *testing.T, job string, script waittest.JobScript, change func(*wire.Spec)) question {
	t.Helper()
	return askOn(t, wire.DefaultTaskQueue, job, script, change)
}

// askOn does so on a task queue.
func askOn(t *testing.T, queue, job string, script waittest.JobScript, change func(*wire.Spec)) question {
	t.Helper()
	job = afresh(job)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	require.NoError(t, shared.Provider.Set(job, script))
	spec := shared.Spec(job)
	if change != nil {
		change(&spec)
	}
	run, err := shared.StartOn(ctx, queue, spec)
	require.NoError(t, err)
	open, err := shared.Escalated(ctx, run)
	require.NoError(t, err)
	return question{t, job, run, open}
}

// next waits until the wait asks anew.
func (q question) next() question {
	q.t.Helper()
	ctx, cancel := context.WithTimeout(q.t.Context(), patience)
	defer cancel()
	view, err := shared.Until(ctx, q.run, func(view wire.OperationView) bool { return view.Escalation != nil && view.Escalation.ID != q.open.ID })
	require.NoError(q.t, err)
	q.open = *view.Escalation
	return q
}

// operation is the wait's operation id.
func (q question) operation() string { return "op-" + q.job }

// used counts how often a job was wanted: with -count a test runs again on the same server, where a job has one owner.
var used sync.Map

func afresh(name string) string {
	n, _ := used.LoadOrStore(name, new(atomic.Int64))
	if times := n.(*atomic.Int64).Add(1); times > 1 {
		return fmt.Sprintf("%s-%d", name, times)
	}
	return name
}

func (q question) decide(kind wire.DecisionKind, by string) {
	q.t.Helper()
	ctx, cancel := context.WithTimeout(q.t.Context(), patience)
	defer cancel()
	_, err := shared.Decide(ctx, q.run.GetID(), wire.Decision{
		Kind: kind, DecisionID: "d-" + by, EscalationID: q.open.ID, DecidedBy: by, Comment: "no time to lose",
	})
	require.NoError(q.t, err)
}

func (q question) outcome() wire.Outcome {
	q.t.Helper()
	ctx, cancel := context.WithTimeout(q.t.Context(), patience)
	defer cancel()
	outcome, err := shared.Outcome(ctx, shared.Client.GetWorkflow(ctx, q.run.GetID(), ""))
	require.NoError(q.t, err)
	return outcome
}

// undecided wants the question to be open still, with no decision in the audit.
func (q question) undecided() {
	q.t.Helper()
	ctx, cancel := context.WithTimeout(q.t.Context(), patience)
	defer cancel()
	view, err := shared.View(ctx, q.run.GetID())
	require.NoError(q.t, err)
	require.NotNil(q.t, view.Escalation)
	require.Equal(q.t, q.open.ID, view.Escalation.ID)
	audit, err := shared.Audit(ctx, q.run.GetID(), "")
	require.NoError(q.t, err)
	for _, entry := range audit.Entries {
		require.NotContains(q.t, []wire.Event{wire.EventDecisionApplied, wire.EventDecisionRefused}, entry.Event)
	}
}

// longest is the longest line that a person had before them.
func longest(text string) string {
	most := ""
	for line := range strings.Lines(text) {
		if line = strings.TrimRight(line, "\n"); utf8.RuneCountInString(line) > utf8.RuneCountInString(most) {
			most = line
		}
	}
	return most
}

var frame = regexp.MustCompile(`(?s)\x1b\[H(.*?)\x1b\[J`)

// screen is the last frame that a live list drew.
func screen(text string) string {
	frames := frame.FindAllStringSubmatch(text, -1)
	if len(frames) == 0 {
		return ""
	}
	return strings.ReplaceAll(frames[len(frames)-1][1], "\x1b[K", "")
}
