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
	ended      sync.Once
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
		p.ended.Do(func() {
			p.screen.line(clock(time.Now()), story.label, "standard input has ended: from here on "+demoApprover+" answers in your place")
		})
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
	for {
		line, err := p.line(ctx, fmt.Sprintf("which, by number or word? [1 %s]", open.Options[0].Kind))
		if err != nil {
			return wire.Option{}, err
		}
		if option, ok := chosen(open.Options, line); ok {
			return option, nil
		}
		_, _ = fmt.Fprintf(p.screen.out, "  %q is neither a number from 1 to %d nor one of %s\n", line, len(open.Options), optionNames(open.Options))
	}
}

// chosen is the option of a number or of its word, in either way of writing it; an empty line takes the first.
func chosen(options []wire.Option, line string) (wire.Option, bool) {
	word := strings.ToLower(strings.ReplaceAll(line, "-", "_"))
	for i, option := range options {
		if word == string(option.Kind) || orElse(word, "1") == strconv.Itoa(i+1) {
			return option, true
		}
	}
	return wire.Option{}, false
}

// number asks until a number in range is given; an empty line takes the default.
func (p *personAtTerminal) number(ctx context.Context, what string, standard, least, most int) (int, error) {
	for {
		line, err := p.line(ctx, fmt.Sprintf("%s? [%d]", what, standard))
		if err != nil {
			return 0, err
		}
		n, err := strconv.Atoi(orElse(line, strconv.Itoa(standard)))
		if err == nil && n >= least && n <= most {
			return n, nil
		}
		_, _ = fmt.Fprintf(p.screen.out, "  %q is not a number from %d to %d\n", line, least, most)
	}
}

// line is the answer to one question.
func (p *personAtTerminal) line(ctx context.Context, question string) (string, error) {
	_, _ = fmt.Fprintf(p.screen.out, "  %s ", question)
	select {
	case <-ctx.Done():
		return "", ctx.Err()
	case line, ok := <-p.lines:
		if !ok {
			_, _ = fmt.Fprintln(p.screen.out)
			return "", errNoInput
		}
		return line, nil
	}
}

func orElse(text, other string) string {
	if text == "" {
		return other
	}
	return text
}
