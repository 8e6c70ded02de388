package startercmd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/jobwait/jobwait/internal/plain"
	"github.com/jobwait/jobwait/internal/waits"
	"github.com/jobwait/jobwait/wire"
)

// requestFlags are one extension request on the command line.
type requestFlags struct {
	id      target
	request wire.ExtensionRequest
	span    time.Duration
	json    bool
}

func (a *app) requestCommand() *cobra.Command {
	flags := &requestFlags{}
	command := &cobra.Command{
		Use:   "request-extension",
		Short: "ask people for more time or requests while a wait goes on",
		Long: `Request-extension opens a proposal: people are told, and answer it by extend or refuse. It grants nothing; polling goes on
under the present limits, and the deadline lapses the proposal. One is open at a time, and three are opened in all. A stop
asks with more, so that a proposal that is open then lapses. What is asked for counts as an extension once it is granted.

The same request under the same --request-id is answered with the same proposal. A request that is refused changes nothing:
the reason is shown (with --json as JSON, too), and the exit code is 1.`,
		RunE: func(command *cobra.Command, _ []string) error { return a.requestExtension(command.Context(), flags) },
	}
	flags.id.define(command)
	r := &flags.request
	command.Flags().DurationVar(&flags.span, "for", 0, "`time` wanted, from the decision to the new deadline, such as 30m")
	command.Flags().IntVar(&r.StatusRequests, "requests", 0, "how many more status requests are wanted")
	command.Flags().StringVar(&r.ExpectedEffect, "effect", "", "`what` the grant would lead to, for whoever decides (required)")
	command.Flags().StringVar(&r.RequestedBy, "by", os.Getenv("USER"), "`who` asks")
	command.Flags().StringVar(&r.RequestID, "request-id", "", "`id` under which the request may be repeated (default: a new one)")
	command.Flags().BoolVar(&flags.json, "json", false, "the reply as JSON, a refusal included")
	return command
}

// complete checks what can be known before anything is asked.
func (f *requestFlags) complete() error {
	r := &f.request
	switch {
	case r.RequestedBy == "":
		return usagef("--by is missing and $USER is empty; say who asks")
	case r.ExpectedEffect == "":
		return usagef("--effect is missing; say what the grant would lead to")
	case f.span%time.Second != 0:
		return usagef("--for %s: whole seconds are granted", f.span)
	case f.span == 0 && r.StatusRequests == 0:
		return usagef("nothing is asked for; give --for, --requests, or both")
	}
	r.Seconds = int(f.span / time.Second)
	if r.RequestID == "" {
		r.RequestID = newID()
	}
	return nil
}

func (a *app) requestExtension(ctx context.Context, flags *requestFlags) error {
	if err := flags.complete(); err != nil {
		return err
	}
	err := a.withWait(ctx, &flags.id, func(ctx context.Context, s *server, workflowID string) error {
		return a.requestOf(ctx, s, workflowID, flags)
	})
	var not *refusedError
	if flags.json && errors.As(err, &not) {
		return errors.Join(a.printJSON(requestRefused{RequestID: flags.request.RequestID, Refusal: not.refusal}), err)
	}
	return err
}

// requestRefused is what --json prints of a request that opened no proposal.
type requestRefused struct {
	RequestID string       `json:"request_id"`
	Refusal   wire.Refusal `json:"refusal"`
}

func (a *app) requestOf(ctx context.Context, s *server, workflowID string, flags *requestFlags) error {
	info, err := s.Latest(ctx, workflowID)
	if err != nil {
		return err
	}
	if !waits.Open(info) {
		return a.ended(workflowID)
	}
	reply, err := s.RequestExtension(ctx, workflowID, flags.request)
	if refusal, ok := waits.Refusal(err); ok {
		return hinted(&refusedError{refusal.Of("extension request"), refusal}, "`%s show %s` shows how it stands", a.name, workflowID)
	}
	switch {
	case waits.Gone(err):
		return a.ended(workflowID)
	case waits.Unsettled(err):
		return hinted(fmt.Errorf("no worker answered within %s; the proposal may or may not be open", waits.DecideTimeout),
			"ask again with --request-id %s, under which it is opened at most once", flags.request.RequestID)
	case err != nil:
		return err
	case flags.json:
		return a.printJSON(reply)
	}
	a.say("asked; `%s show %s` shows what people are asked", a.name, reply.ProposalID)
	id := reply.ProposalID
	if isTerminal(a.out) { // a program takes it as it is
		id = plain.Cell(id)
	}
	_, err = fmt.Fprintln(a.out, id)
	return err
}
