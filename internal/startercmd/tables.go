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
		Short: "list state tables, or check your own",
		Long:  "A state table says what one provider's answers mean. They are data: one YAML file per provider.",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usagef("there is no command %q; there are list and check", args[0])
			}
			return usagef("a command is missing: list or check")
		},
		RunE: func(*cobra.Command, []string) error { return nil },
	}
	command.AddCommand(a.tablesListCommand(), a.tablesCheckCommand())
	return command
}

func (a *app) tablesListCommand() *cobra.Command {
	var dir string
	var asJSON bool
	command := &cobra.Command{
		Use:   "list",
		Short: "list the providers that have a table",
		Args:  noArguments,
		RunE:  func(*cobra.Command, []string) error { return a.listTables(dir, asJSON) },
	}
	command.Flags().StringVar(&dir, "tables", "", "`directory` with tables of your own, listed too")
	command.Flags().BoolVar(&asJSON, "json", false, "as JSON")
	return command
}

// listed is one table.
type listed struct {
	Provider string `json:"provider"`
	Title    string `json:"title"`
	Source   string `json:"source"`
	Digest   string `json:"digest"`
}

func (a *app) listTables(dir string, asJSON bool) error {
	tables, err := gatherTables(dir)
	if err != nil {
		return err
	}
	if asJSON {
		return a.printJSON(tables)
	}
	rows := [][]string{{"PROVIDER", "TITLE", "FROM"}}
	for _, table := range tables {
		rows = append(rows, []string{table.Provider, table.Title, table.Source})
	}
	return writeTable(a.out, rows)
}

func gatherTables(dir string) ([]listed, error) {
	sources := []struct {
		name   string
		source statetables.Source
	}{
		{"built in", statetables.Source{FS: statetables.Builtin()}},
		{"built in, with worker --demo", statetables.Source{Name: "demo", FS: statetables.Demo()}},
	}
	if dir != "" {
		sources = append(sources, struct {
			name   string
			source statetables.Source
		}{dir, statetables.Source{Name: dir, FS: os.DirFS(dir)}})
	}
	tables := []listed{}
	for _, from := range sources {
		set, err := statetables.Load(from.source)
		if err != nil {
			return nil, err
		}
		for _, provider := range set.Providers() {
			table, _ := set.Table(provider)
			tables = append(tables, listed{provider, table.Title(), from.name, table.Digest()})
		}
	}
	return tables, nil
}

func (a *app) tablesCheckCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "check DIRECTORY",
		Short: "check the tables of a directory, and run their examples",
		Long: `Check loads every *.yaml and *.yml of a directory beside the built-in tables, as a worker with --tables does: it compiles
the expressions, runs the examples, and names each fault with file and line.`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usagef("%d arguments, one directory is wanted", len(args))
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error { return a.checkTables(args[0]) },
	}
}

func (a *app) checkTables(dir string) error {
	own, err := statetables.Load(statetables.Source{Name: dir, FS: os.DirFS(dir)})
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
