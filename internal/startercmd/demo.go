package startercmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/spf13/cobra"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/worker"
	"golang.org/x/sync/errgroup"

	"github.com/jobwait/jobwait"
	"github.com/jobwait/jobwait/activities"
	"github.com/jobwait/jobwait/internal/connect"
	"github.com/jobwait/jobwait/internal/devserver"
	"github.com/jobwait/jobwait/statetables"
	"github.com/jobwait/jobwait/waittest"
	"github.com/jobwait/jobwait/wire"
)

// demoKey is what the fake provider of the demonstration asks for.
const demoKey = "only-for-the-demo"

type demoFlags struct {
	keep           bool
	answerYourself bool
}

func (a *app) demoCommand() *cobra.Command {
	var flags demoFlags
	command := &cobra.Command{
		Use:   "demo",
		Short: "show four waits on a Temporal server of its own, in under a minute",
		Long: `Demo starts a Temporal development server, a fake provider and a worker, all on this machine, and lets four waits happen:
a busy provider, a state that nobody listed, a job that needs more checks than allowed, and a job that fails.

It takes $TEMPORAL_CLI, else the temporal command on PATH, else builds the one that this checkout pins, which takes some
minutes the first time and says so. It needs Go and nothing else.`,
		Args: noArguments,
		RunE: func(command *cobra.Command, _ []string) error { return a.demo(command.Context(), flags) },
	}
	command.Flags().BoolVar(&flags.keep, "keep", false, "leave everything running until Ctrl-C, with the addresses to look at")
	command.Flags().BoolVar(&flags.answerYourself, "answer-yourself", false, "answer the escalations at this terminal, in place of a simulated person")
	return command
}

func (a *app) demo(ctx context.Context, flags demoFlags) error {
	stage, err := a.openStage(ctx, flags.keep)
	if err != nil {
		return err
	}
	err = a.perform(ctx, stage, flags)
	if ctx.Err() != nil {
		err = nil // Ctrl-C is how one leaves
	}
	return errors.Join(err, stage.close())
}

func (a *app) perform(ctx context.Context, stage *stage, flags demoFlags) error {
	screen := newScreen(a.out)
	stories := demoStories()
	screen.introduce(stage, stories)
	person := a.person(screen, flags.answerYourself)
	began := time.Now()
	if err := stage.play(ctx, screen, person, stories); err != nil {
		return err
	}
	if err := stage.sumUp(ctx, screen, stories, time.Since(began)); err != nil {
		return err
	}
	if !flags.answerYourself {
		if err := checkEndings(stories); err != nil {
			return err
		}
	}
	if flags.keep {
		return a.keep(ctx, stage, screen)
	}
	screen.print("\n`%s demo --keep` leaves everything running, to look around in.\n", a.name)
	return nil
}

// checkEndings makes a demonstration that went another way than it tells an error.
func checkEndings(stories []*tale) error {
	for _, story := range stories {
		if story.outcome.Status != story.want {
			return fmt.Errorf("demo: %q ended %s, expected was %s", story.label, outcomeText(story.outcome), story.want)
		}
	}
	return nil
}

// stage is everything that a demonstration runs on.
type stage struct {
	temporal *devserver.Server
	provider *waittest.Provider
	server   *server
	worker   worker.Worker
}

func (a *app) openStage(ctx context.Context, ui bool) (*stage, error) {
	a.say("looking for Temporal...")
	found, err := devserver.Find(ctx, a.err)
	if err != nil {
		return nil, err
	}
	a.say("starting %s", found)
	s := &stage{}
	s.temporal, err = devserver.Start(ctx, devserver.Options{Executable: found, UI: ui, SearchAttributes: true, FastTimers: true})
	if err != nil {
		return nil, err
	}
	if err := s.fill(ctx, a.err); err != nil {
		return nil, errors.Join(err, s.close())
	}
	return s, nil
}

func (s *stage) fill(ctx context.Context, errs io.Writer) error {
	var err error
	s.provider, err = waittest.NewProvider(waittest.ProviderOptions{Key: demoKey, Script: waittest.ProviderScript{Submit: demoSubmissions()}})
	if err != nil {
		return err
	}
	s.server, err = dial(ctx, client.Options{
		HostPort: s.temporal.Address, Namespace: s.temporal.Namespace, Identity: connect.Identity(),
		Logger: log.NewStructuredLogger(slog.New(slog.NewTextHandler(errs, &slog.HandlerOptions{Level: slog.LevelError}))),
	})
	if err != nil {
		return err
	}
	plugin, err := demoPlugin(s.provider)
	if err != nil {
		return err
	}
	s.worker = worker.New(s.server.Client.Client, wire.DefaultTaskQueue, worker.Options{Plugins: []worker.Plugin{plugin}})
	return s.worker.Start()
}

// demoPlugin is what `worker --demo` runs, with a credential for the fake provider alone.
func demoPlugin(provider *waittest.Provider) (worker.Plugin, error) {
	tables, err := statetables.Load(statetables.Source{Name: "demo", FS: statetables.Demo()})
	if err != nil {
		return nil, err
	}
	return jobwait.NewPlugin(jobwait.Options{
		Tables:      tables,
		Credentials: demoCredentials{origin: provider.URL()},
		// A person may allow a quarter of an hour and four checks at a time.
		Policy: activities.Policy{Caps: activities.Caps{Grants: activities.GrantCaps{
			Seconds: new(900), StatusRequests: new(4), TransportFailures: new(3), RateLimited: new(3),
		}}},
		Logger: slog.New(slog.DiscardHandler), // the stories tell what it would log
	})
}

type demoCredentials struct{ origin string }

func (d demoCredentials) Credential(_ context.Context, name string) (activities.Credential, error) {
	if name != "demo" {
		return activities.Credential{}, fmt.Errorf("%w %q", activities.ErrUnknownCredential, name)
	}
	return activities.Credential{
		Version: "1", Origins: []string{d.origin},
		Read: func(context.Context) (activities.Secret, error) { return activities.NewSecret(demoKey) },
	}, nil
}

func (s *stage) close() error {
	var errs []error
	if s.worker != nil {
		s.worker.Stop()
	}
	if s.server != nil {
		s.server.Close()
	}
	if s.provider != nil {
		errs = append(errs, s.provider.Close())
	}
	return errors.Join(append(errs, s.temporal.Stop())...)
}

// play lets all stories happen at once.
func (s *stage) play(ctx context.Context, screen *screen, person person, stories []*tale) error {
	group, ctx := errgroup.WithContext(ctx)
	for _, story := range stories {
		group.Go(func() error {
			if err := s.tell(ctx, screen, person, story); err != nil {
				return fmt.Errorf("demo: %q: %w", story.label, err)
			}
			return nil
		})
	}
	return group.Wait()
}

func (s *stage) tell(ctx context.Context, screen *screen, person person, story *tale) error {
	run, err := s.begin(ctx, story)
	if err != nil {
		return err
	}
	narrator := &narrator{server: s.server, screen: screen, person: person, story: story}
	following := &follower{server: s.server, workflowID: run.GetID(), runID: run.GetRunID(), news: narrator.news}
	how, err := following.follow(ctx)
	if err != nil {
		return err
	}
	story.outcome = *how.wait
	return nil
}

// begin submits the job to the fake provider and starts the wait for it.
func (s *stage) begin(ctx context.Context, story *tale) (client.WorkflowRun, error) {
	spec := story.spec
	if err := s.provider.Set(spec.ProviderJobID, story.script); err != nil {
		return nil, err
	}
	now := time.Now().UTC()
	spec.StatusURL, spec.SubmittedAt, spec.DeadlineAt = s.provider.StatusURL(spec.ProviderJobID), &now, now.Add(10*time.Minute)
	return jobwait.Start(ctx, s.server, spec, jobwait.StartOptions{})
}
