package startercmd

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/jobwait/jobwait/statetables"
)

func (a *app) tablesCommand() *cobra.Command {
	command := &cobra.Command{
		Use:   "tables",
		Short: "look at state tables, try and check your own",
		Long:  "A state table says what one provider's answers mean. They are data: one YAML file per provider.",
		Args: func(_ *cobra.Command, args []string) error {
			const there = "list, show, try, new, check, schema, docs"
			if len(args) > 0 {
				return usagef("there is no command %q; there are %s", args[0], there)
			}
			return usagef("a command is missing: %s", there)
		},
		RunE: func(*cobra.Command, []string) error { return nil },
	}
	command.AddCommand(a.tablesListCommand(), a.tablesShowCommand(), a.tablesTryCommand(), a.tablesNewCommand(),
		a.tablesCheckCommand(), a.tablesSchemaCommand(), a.tablesDocsCommand())
	return command
}

func (a *app) tablesCheckCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "check [DIRECTORY]",
		Short: "check the tables of a directory, and run their examples",
		Long: `Check loads every *.yaml and *.yml of a directory beside the built-in tables, as a worker with --tables does: it compiles
the expressions, runs the examples, and names every fault with file, line and what to write instead. Without a directory it
checks the built-in tables.`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 {
				return usagef("%d arguments, one directory is wanted", len(args))
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return a.checkTables(statetables.Source{FS: statetables.Builtin()}, "")
			}
			return a.checkTables(statetables.Source{Name: args[0], FS: os.DirFS(args[0])}, args[0])
		},
	}
}

func (a *app) checkTables(source statetables.Source, dir string) error {
	own, err := statetables.Load(source)
	if err != nil {
		return err
	}
	if len(own.Providers()) == 0 {
		return fmt.Errorf("tables: %s has no *.yaml or *.yml file at its top", dir)
	}
	if _, err := localTables(dir); err != nil { // a provider that is built in, too
		return err
	}
	for _, provider := range own.Providers() {
		if _, err := fmt.Fprintf(a.out, "ok  %s\n", provider); err != nil {
			return err
		}
	}
	return nil
}
