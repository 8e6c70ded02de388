package startercmd

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
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
	return &personAtTerminal{prompter: prompter{out: screen.out, lines: readLines(a.in)}, screen: screen, substitute: simulated}
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
	prompter

	screen     *screen
	substitute person
	turn       sync.Mutex
	ended      sync.Once
}

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
	decision := wire.Decision{Kind: option.Kind, DecidedBy: cmp.Or(os.Getenv("USER"), "you"), Comment: "answered at the demo's terminal"}
	if option.MaxStatusRequests > 0 {
		if decision.StatusRequests, err = p.number(ctx, "how many more checks", 4, option.MaxStatusRequests); err != nil {
			return wire.Decision{}, err
		}
		if decision.Seconds, err = p.number(ctx, "for how many seconds from now", 120, option.MaxSeconds); err != nil {
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
	var taken wire.Option
	err := p.until(ctx, fmt.Sprintf("which, by number or word? [1 %s]", open.Options[0].Kind), func(line string) string {
		option, ok := chosen(open.Options, cmp.Or(line, "1"))
		if !ok {
			return notAmong(line, open.Options)
		}
		taken = option
		return ""
	})
	return taken, err
}

func notAmong(line string, options []wire.Option) string {
	return fmt.Sprintf("%q is neither a number from 1 to %d nor one of %s", line, len(options), optionNames(options))
}

// chosen is the option of a number or of its word, in either way of writing it.
func chosen(options []wire.Option, line string) (wire.Option, bool) {
	word := strings.ToLower(strings.ReplaceAll(line, "-", "_"))
	for i, option := range options {
		if word == string(option.Kind) || word == strconv.Itoa(i+1) {
			return option, true
		}
	}
	return wire.Option{}, false
}

// number asks until a number from 0 to the most is given; an empty line takes the default.
func (p prompter) number(ctx context.Context, what string, standard, most int) (int, error) {
	taken := 0
	err := p.until(ctx, fmt.Sprintf("%s? [%d]", what, standard), func(line string) string {
		n, err := strconv.Atoi(cmp.Or(line, strconv.Itoa(standard)))
		if err != nil || n < 0 || n > most {
			return fmt.Sprintf("%q is not a number from 0 to %d", line, most)
		}
		taken = n
		return ""
	})
	return taken, err
}
