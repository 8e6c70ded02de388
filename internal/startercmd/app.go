package startercmd

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"

	"github.com/spf13/cobra"
	"go.temporal.io/sdk/client"

	"github.com/jobwait/jobwait/internal/connect"
	"github.com/jobwait/jobwait/internal/version"
	"github.com/jobwait/jobwait/internal/waits"
)

const about = `jobwait waits for an external job as one durable Temporal workflow: bounded, audited, and stopping to ask a person where
it may not decide.

` + connect.Settings + `

ID names a wait in one of these ways:
  an operation id     report-export-2025-04-18-01 (what a spec calls operation_id; found by listing waits)
  an escalation id    report-export-2025-04-18-01#1-3f9a2c1b
  a workflow id       jobwait/demo-export/acct-42/exp_71c
  or no ID and the flags --provider, --account and --job

` + exitCodes

// app is what every command shares.
type app struct {
	in       io.Reader
	out, err io.Writer
	// name is how hints call this program.
	name string
}

func (a *app) command() *cobra.Command {
	root := &cobra.Command{
		Use:   "jobwait",
		Short: "wait for external jobs, bounded and audited",
		Long:  about,
		// What --version prints.
		Version: version.Line(),
		// Errors are told by report, with the way out and without the usage text between.
		SilenceErrors: true, SilenceUsage: true,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usagef("there is no command %q", args[0])
			}
			return usagef("a command is missing")
		},
		RunE: func(*cobra.Command, []string) error { return nil },
	}
	root.SetIn(a.in)
	root.SetOut(a.out)
	root.SetErr(a.err)
	root.CompletionOptions.DisableDefaultCmd = true
	root.SetHelpCommand(&cobra.Command{Hidden: true})
	root.SetVersionTemplate("jobwait {{.Version}}\n")
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{err} })
	root.AddCommand(a.awaitCommand(), a.followCommand(), a.showCommand(), a.auditCommand(), a.escalationsCommand(), a.fetchCommand(), a.submitCommand())
	root.AddCommand(a.decideCommand())
	root.AddCommand(a.decisionCommands()...)
	root.AddCommand(a.requestCommand(), a.nudgeCommand(), a.keysCommand(), a.tablesCommand(), a.demoCommand())
	return root
}

// server is a connection to Temporal.
type server struct{ waits.Client }

// connect dials the server of Temporal's own settings.
func (a *app) connect(ctx context.Context) (*server, error) {
	logger := slog.New(slog.NewTextHandler(a.err, &slog.HandlerOptions{Level: slog.LevelError}))
	options, err := connect.Options(logger, true)
	if err != nil {
		return nil, err
	}
	return dial(ctx, options)
}

func dial(ctx context.Context, options client.Options) (*server, error) {
	c, err := connect.Dial(ctx, options)
	if err != nil {
		return nil, err
	}
	return &server{waits.New(c, options.DataConverter)}, nil
}

// printJSON writes one indented JSON value, which is what --json promises of every command.
func (a *app) printJSON(value any) error {
	encoder := json.NewEncoder(a.out)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	return encoder.Encode(value)
}
