package startercmd

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/jobwait/jobwait/internal/inboxcmd"
	"github.com/jobwait/jobwait/internal/waits"
	"github.com/jobwait/jobwait/operation"
	"github.com/jobwait/jobwait/wire"
)

// screen is where the stories are shown, one line at a time.
type screen struct {
	mu    sync.Mutex
	out   io.Writer
	color bool
}

// newScreen uses colour on a terminal only, and not where NO_COLOR is set.
func newScreen(out io.Writer) *screen {
	s := &screen{out: out}
	if file, ok := out.(*os.File); ok && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb" {
		info, err := file.Stat()
		s.color = err == nil && info.Mode()&os.ModeCharDevice != 0
	}
	return s
}

func (s *screen) print(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, _ = fmt.Fprintf(s.out, format, args...) // a terminal that is gone ends the demonstration by its signal
}

func (s *screen) line(at, label, text string) {
	s.print("%s  %s  %s\n", at, s.paint("1", fmt.Sprintf("%-6s", label)), text)
}

// block shows several lines as belonging to the story above them.
func (s *screen) block(text string) {
	indented := "  | " + strings.ReplaceAll(text, "\n", "\n  | ")
	s.print("%s\n", s.paint("2", indented))
}

func (s *screen) paint(code, text string) string {
	if !s.color {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

func (s *screen) introduce(stage *stage, stories []*tale) {
	s.print("\nTemporal server at %s, fake provider at %s, one worker in this process. Times are UTC.\n", stage.temporal.Address, stage.provider.URL())
	s.print("Four exports were submitted. Each is waited for by one durable workflow:\n\n")
	for _, story := range stories {
		s.print("  %s  %s\n", s.paint("1", fmt.Sprintf("%-6s", story.label)), story.about)
	}
	s.print("\n")
}

// narrator shows what one wait decides, as its audit has it, and takes its escalations to a person.
type narrator struct {
	server *server
	screen *screen
	person person
	story  *tale

	seen     int // the last entry shown
	answered string
}

// news looks for an open escalation first, so that the audit, which is asked afterwards, tells how it came about.
func (n *narrator) news(ctx context.Context, runID string) error {
	id := wire.WorkflowID(n.story.spec.Provider, n.story.spec.Account, n.story.spec.ProviderJobID)
	open, err := ask[*wire.EscalationView](ctx, n.server, id, runID, wire.QueryEscalation)
	if err != nil {
		return unlessTransient(err)
	}
	audit, err := ask[wire.AuditView](ctx, n.server, id, runID, wire.QueryAudit)
	if err != nil {
		return unlessTransient(err)
	}
	for _, entry := range audit.Entries {
		if entry.Seq > n.seen {
			n.seen = entry.Seq
			n.tell(entry)
		}
	}
	if open == nil || open.ID == n.answered {
		return nil
	}
	return n.answer(ctx, id, *open)
}

// unlessTransient drops what may be asked again with the next news.
func unlessTransient(err error) error {
	if waits.Transient(err) {
		return nil
	}
	return err
}

func (n *narrator) tell(entry wire.Entry) {
	switch entry.Event { //nolint:exhaustive // what a first look can do without
	case wire.EventRequestReserved, wire.EventStateChanged, wire.EventNotified:
		return
	}
	at, text, _ := strings.Cut(operation.Story(entry), " ")
	n.screen.line(at, n.story.label, text)
}

// answer takes an escalation that has opened to the person, until one of the answers is applied.
func (n *narrator) answer(ctx context.Context, id string, open wire.EscalationView) error {
	n.answered = open.ID
	n.screen.block(open.Message)
	for {
		decision, err := n.person.decide(ctx, n.story, open)
		if err != nil {
			return err
		}
		_, err = n.server.Decide(ctx, id, decision)
		refusal, refused := waits.Refusal(err)
		if !refused {
			return err
		}
		n.screen.line(clock(time.Now()), n.story.label, refusal.Error())
	}
}

// sumUp shows how the stories ended and tells one of them from its audit.
func (s *stage) sumUp(ctx context.Context, screen *screen, stories []*tale, took time.Duration) error {
	screen.print("\nAll four waits are over, after %s:\n\n", operation.Span(took))
	rows := [][]string{{"WAIT", "OUTCOME", "REQUESTS", "WAITED", "DECIDED BY", "RESULT"}}
	for _, story := range stories {
		o := story.outcome
		rows = append(rows, []string{
			story.label, outcomeText(o), strconv.Itoa(o.StatusRequestsUsed), operation.Span(o.ClosedAt.Sub(o.OpenedAt)), o.DecidedBy,
			resultText(o) + o.ProviderError.Message,
		})
	}
	if err := writeTable(screen.out, rows); err != nil {
		return err
	}
	return s.retell(ctx, screen, stories[2])
}

func (s *stage) retell(ctx context.Context, screen *screen, story *tale) error {
	info, err := s.server.Latest(ctx, wire.WorkflowID(story.spec.Provider, story.spec.Account, story.spec.ProviderJobID))
	if err != nil {
		return err
	}
	told, err := s.server.story(ctx, info, "")
	if err != nil {
		return err
	}
	screen.print("\nEvery decision is on record with its cause. The audit of %q:\n\n", story.label)
	for _, line := range operation.StoryOf(told.Entries) {
		screen.print("  %s\n", line)
	}
	if told.BrokenAt != 0 {
		return fmt.Errorf("demo: the audit's hash chain breaks at entry %d", told.BrokenAt)
	}
	screen.print("\n%d entries, hash chain verified up to the head that the outcome names.\n", len(told.Entries))
	return nil
}

// keep leaves everything running, and one wait open to try things on.
func (a *app) keep(ctx context.Context, stage *stage, screen *screen) error {
	if _, err := stage.begin(ctx, reviewStory()); err != nil {
		return err
	}
	inbox, err := inboxcmd.OpenLocal(ctx, stage.server.Client, cmp.Or(os.Getenv("USER"), "you"), slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	defer func() { _ = inbox.Close() }()
	screen.print(`
Everything keeps running until Ctrl-C, and one more wait, demo-review, is left for you to answer:

  inbox            %[6]s

  Temporal         %[1]s, namespace %[2]s
  Temporal Web UI  %[3]s
  fake provider    %[4]s (GET /_log: what it was asked)

The same at a terminal, in another one:

  export TEMPORAL_ADDRESS=%[1]s
  %[5]s escalations
  %[5]s show demo-review
  %[5]s extend demo-review --for 10m --requests 4 --by you --comment 'reviewed at the provider'
  %[5]s follow demo-review
  %[5]s audit demo-odd
`, stage.temporal.Address, stage.temporal.Namespace, stage.temporal.UIAddress, stage.provider.URL(), a.name, inbox.URL)
	select {
	case <-ctx.Done():
		return nil
	case <-stage.temporal.Exited():
		return fmt.Errorf("demo: the Temporal server ended by itself")
	}
}
