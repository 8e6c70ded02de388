package web

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"go.temporal.io/sdk/client"
	"golang.org/x/sync/errgroup"

	"github.com/jobwait/jobwait/internal/inboxcmd/access"
	"github.com/jobwait/jobwait/internal/listing"
	"github.com/jobwait/jobwait/internal/waits"
	"github.com/jobwait/jobwait/wire"
)

const (
	// storyRuns is how many runs of a wait are asked for its story unless all are wanted; allRuns bounds those.
	storyRuns, allRuns = 2, 50
	maxRunID           = 64
)

// waitRef is the wait that a page is about.
type waitRef struct{ id, provider, account, job string }

// visible reads which wait a page is about, and refuses those that the person may not see: whether they exist or not.
func (s *Server) visible(w http.ResponseWriter, r *http.Request, who access.Person) (waitRef, bool) {
	ref := waitRef{id: r.PathValue("id")}
	var ok bool
	if ref.provider, ref.account, ref.job, ok = listing.Parts(ref.id); !ok {
		s.fail(w, r, who, http.StatusNotFound, "There is no such wait", "The address does not hold the id of a wait, which looks like jobwait/<provider>/<account>/<job>.")
		return ref, false
	}
	if !s.options.Policy.MaySee(who, ref.provider, ref.account) {
		s.options.Logger.WarnContext(r.Context(), "refused to show a wait", "person", who.Name, "groups", who.Groups, "workflow_id", ref.id, "remote", r.RemoteAddr)
		s.fail(w, r, who, http.StatusForbidden, "You may not see this wait",
			fmt.Sprintf("No rule of the inbox shows %s the waits of account %q at %q.", who.Name, ref.account, ref.provider))
		return ref, false
	}
	return ref, true
}

// seen is a wait as far as it could be found out.
type seen struct {
	ref  waitRef
	info *client.WorkflowExecutionDescription
	// view is nil where no worker answered; unasked says why.
	view    *wire.OperationView
	unasked error
	// telling and heldBack are what the server says of what is under way.
	telling, heldBack string
	// outcome is set when the wait is over; endless says why there is none.
	outcome *wire.Outcome
	endless error
	story   waits.Story
}

func (s seen) open() bool { return waits.Open(s.info) }

// submission reports whether it is one, and not a wait.
func (s seen) submission() bool { return isSubmission(s.ref.id) }

func isSubmission(workflowID string) bool {
	return strings.HasPrefix(workflowID, wire.SubmitWorkflowIDPrefix)
}

func (s seen) runID() string { return s.info.WorkflowExecution.RunID }

// version changes whenever something happened to the wait, or to what it has under way.
func (s seen) version() string { return versionOf(s.info) }

func versionOf(info *client.WorkflowExecutionDescription) string {
	return fmt.Sprintf("%s-%d-%d-%d", info.WorkflowExecution.RunID, info.HistoryLength, info.Status, waits.Attempts(info))
}

// look finds out all there is to know of a wait. What needs a worker may be missing; the rest is there without one.
func (s *Server) look(ctx context.Context, ref waitRef, runID string, runs int) (seen, error) {
	info, err := s.options.Waits.Run(ctx, ref.id, runID)
	if err != nil {
		return seen{}, err
	}
	found := seen{ref: ref, info: info, telling: waits.Telling(info), heldBack: waits.HeldBack(info)}
	last, over := found.runID(), !found.open() // found is written to from here on
	var group errgroup.Group
	group.Go(func() error {
		view, err := waits.Ask[wire.OperationView](ctx, askTimeout, s.options.Waits, ref.id, last, wire.QueryOperation)
		if found.unasked = err; err == nil {
			found.view = &view
		}
		return nil
	})
	var untold error
	group.Go(func() error {
		found.story, untold = s.options.Waits.Story(ctx, askTimeout, ref.id, last, runs)
		return nil
	})
	if over {
		group.Go(func() error {
			outcome, err := s.options.Waits.Outcome(ctx, ref.id, last)
			if found.endless = err; err == nil {
				found.outcome = &outcome
			}
			return nil
		})
	}
	_ = group.Wait() // what failed stands in found
	if found.unasked == nil {
		found.unasked = untold
	}
	return found, ctx.Err()
}

// showWait draws the page of a wait.
func (s *Server) showWait(w http.ResponseWriter, r *http.Request, who access.Person) {
	ref, ok := s.visible(w, r, who)
	if !ok {
		return
	}
	s.drawWait(w, r, who, ref, http.StatusOK, reply{applied: r.URL.Query().Get("decision")})
}

// drawWait draws the page of a wait with what is to be said about an answer.
func (s *Server) drawWait(w http.ResponseWriter, r *http.Request, who access.Person, ref waitRef, status int, said reply) {
	ctx, cancel := context.WithTimeout(r.Context(), pageTimeout)
	defer cancel()
	runID, runs := r.URL.Query().Get("run"), storyRuns
	if r.URL.Query().Get("story") == "all" {
		runs = allRuns
	}
	if len(runID) > maxRunID {
		runID = "?"
	}
	found, err := s.look(ctx, ref, runID, runs)
	switch {
	case errors.As(err, new(*waits.NoWaitError)):
		s.fail(w, r, who, http.StatusNotFound, "There is no such wait", "The server has none under this id, or no longer: closed waits are kept for the namespace's retention.")
	case err != nil:
		s.failure(w, r, who, "The wait cannot be read", err)
	default:
		s.render(w, r, status, "wait", s.waitPage(who, found, said, time.Now()))
	}
}
