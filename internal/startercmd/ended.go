package startercmd

import (
	"context"
	"io"
	"strings"

	"github.com/jobwait/jobwait/wire"
)

// howEnded is how a wait or a submission ended; one of the two is set.
type howEnded struct {
	wait       *wire.Outcome
	submission *wire.SubmitOutcome
}

// ended reads how a closed workflow ended, which needs no worker.
func (s *server) ended(ctx context.Context, workflowID, runID string) (howEnded, error) {
	if strings.HasPrefix(workflowID, wire.SubmitWorkflowIDPrefix) {
		outcome, err := s.SubmitOutcome(ctx, workflowID, runID)
		return howEnded{submission: &outcome}, err
	}
	outcome, err := s.Outcome(ctx, workflowID, runID)
	return howEnded{wait: &outcome}, err
}

func (e howEnded) status() wire.OutcomeStatus {
	if e.submission != nil {
		return e.submission.Status
	}
	return e.wait.Status
}

func (e howEnded) value() any {
	if e.submission != nil {
		return e.submission
	}
	return e.wait
}

func (e howEnded) write(to io.Writer) error {
	if e.submission != nil {
		return writeSubmitted(to, *e.submission)
	}
	return writeOutcome(to, *e.wait)
}

// end shows how it ended and turns that into the exit code.
func (a *app) end(ctx context.Context, s *server, how howEnded, asJSON bool) error {
	show := func() error { return how.write(a.out) }
	if asJSON {
		show = func() error { return a.printJSON(how.value()) }
	}
	if err := show(); err != nil {
		return err
	}
	if !asJSON {
		a.sayAgain(ctx, s, how)
	}
	return outcomeOf(how.status())
}
