package startercmd

import (
	"bufio"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/jobwait/jobwait/wire"
)

// person decides an escalation of the demonstration.
type person interface {
	decide(ctx context.Context, story *tale, open wire.EscalationView) (wire.Decision, error)
}

func (a *app) person(screen *screen, yourself bool) person {
	simulated := &simulatedPerson{screen: screen}
	if !yourself {
		return simulated
	}
	return &personAtTerminal{screen: screen, lines: readLines(a.in), substitute: simulated}
}

// simulatedPerson gives the answers that the stories have ready.
type simulatedPerson struct{ screen *screen }

const demoApprover = "demo approver"

func (p *simulatedPerson) decide(_ context.Context, story *tale, open wire.EscalationView) (wire.Decision, error) {
	decision := story.answer
	if decision.Kind == "" {
		return wire.Decision{}, fmt.Errorf("nobody has an answer ready for %s", reasonText(open.Reason, open.Detail))
	}
	if decision.Kind == wire.DecisionTreatAsPending {
		decision.RawState = "archiving"
	}
	decision.DecidedBy = demoApprover
	p.screen.line(clock(time.Now()), story.label, fmt.Sprintf("%s answers: %s, %d more checks, %q", demoApprover, decision.Kind, decision.StatusRequests, decision.Comment))
	return signed(decision, open), nil
}

// signed fills in what a decision is about and its id.
func signed(decision wire.Decision, open wire.EscalationView) wire.Decision {
	decision.EscalationID = open.ID
	decision.DecisionID = "demo-" + strings.ToLower(rand.Text()[:8])
	return decision
}

// personAtTerminal asks whoever runs the demonstration. The other stories keep their lines until the answer is given.
type personAtTerminal struct {
	screen     *screen
	lines      <-chan string
	substitute person
	turn       sync.Mutex
}

// readLines reads in the background, so that a Ctrl-C ends the waiting for an answer.
func readLines(from io.Reader) <-chan string {
	lines := make(chan string)
	go func() {
		defer close(lines)
		for scanner := bufio.NewScanner(from); scanner.Scan(); {
			lines <- strings.TrimSpace(scanner.Text())
		}
	}()
	return lines
}

var errNoInput = errors.New("standard input has ended")

func (p *personAtTerminal) decide(ctx context.Context, story *tale, open wire.EscalationView) (wire.Decision, error) {
	p.turn.Lock()
	defer p.turn.Unlock()
	decision, err := p.ask(ctx, story, open)
	if errors.Is(err, errNoInput) {
		return p.substitute.decide(ctx, story, open)
	}
	return decision, err
}

func (p *personAtTerminal) ask(ctx context.Context, story *tale, open wire.EscalationView) (wire.Decision, error) {
	p.screen.mu.Lock()
	defer p.screen.mu.Unlock()
	option, err := p.choose(ctx, story, open)
	if err != nil {
		return wire.Decision{}, err
	}
	decision := wire.Decision{Kind: option.Kind, DecidedBy: orElse(os.Getenv("USER"), "you"), Comment: "answered at the demo's terminal"}
	if option.MaxStatusRequests > 0 {
		if decision.StatusRequests, err = p.number(ctx, "how many more checks", 4, 0, option.MaxStatusRequests); err != nil {
			return wire.Decision{}, err
		}
		if decision.Seconds, err = p.number(ctx, "for how many seconds from now", 120, 0, option.MaxSeconds); err != nil {
			return wire.Decision{}, err
		}
	}
	if option.Kind == wire.DecisionTreatAsPending {
		decision.RawState = "archiving"
	}
	return signed(decision, open), nil
}

func (p *personAtTerminal) choose(ctx context.Context, story *tale, open wire.EscalationView) (wire.Option, error) {
	_, _ = fmt.Fprintf(p.screen.out, "\n  Your answer for %q:", story.label)
	for i, option := range open.Options {
		_, _ = fmt.Fprintf(p.screen.out, "  %d %s", i+1, option.Kind)
	}
	_, _ = fmt.Fprintln(p.screen.out)
	n, err := p.number(ctx, "which", 1, 1, len(open.Options))
	if err != nil {
		return wire.Option{}, err
	}
	return open.Options[n-1], nil
}

// number asks until a number in range is given; an empty line takes the default.
func (p *personAtTerminal) number(ctx context.Context, what string, standard, least, most int) (int, error) {
	for {
		_, _ = fmt.Fprintf(p.screen.out, "  %s? [%d] ", what, standard)
		select {
		case <-ctx.Done():
			return 0, ctx.Err()
		case line, ok := <-p.lines:
			if !ok {
				_, _ = fmt.Fprintln(p.screen.out)
				return 0, errNoInput
			}
			n, err := strconv.Atoi(orElse(line, strconv.Itoa(standard)))
			if err == nil && n >= least && n <= most {
				return n, nil
			}
			_, _ = fmt.Fprintf(p.screen.out, "  %q is not a number from %d to %d\n", line, least, most)
		}
	}
}

func orElse(text, other string) string {
	if text == "" {
		return other
	}
	return text
}
