package startercmd

import (
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/jobwait/jobwait/internal/sheet"
	"github.com/jobwait/jobwait/statetables"
)

func (a *app) tablesSchemaCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "schema",
		Short: "the JSON Schema of tables, for editors",
		Long: `Schema writes the JSON Schema (draft 2020-12) of a table. An editor that knows it completes keys, explains them and marks
what cannot be right. For editors with yaml-language-server, write it to a file and begin a table with

  # yaml-language-server: $schema=state-table.schema.json

What a schema cannot know, such as whether an expression compiles and an example reads as it should, is for tables check.`,
		Args: noArguments,
		RunE: func(*cobra.Command, []string) error {
			_, err := io.WriteString(a.out, statetables.Schema())
			return err
		},
	}
}

func (a *app) tablesDocsCommand() *cobra.Command {
	var dir string
	command := &cobra.Command{
		Use:   "docs",
		Short: "all tables as a page of documentation",
		Long: `Docs writes what all tables say as one Markdown page. That of the built-in tables is docs/providers.md; with --tables the
page is about the tables of that directory alone.`,
		Args: noArguments,
		RunE: func(*cobra.Command, []string) error { return a.documentTables(dir) },
	}
	command.Flags().StringVar(&dir, "tables", "", "`directory` with tables of your own")
	return command
}

func (a *app) documentTables(dir string) error {
	source, write := statetables.Source{FS: statetables.Builtin()}, sheet.WriteProvidersPage
	if dir != "" {
		source, write = statetables.Source{Name: dir, FS: os.DirFS(dir)}, sheet.WritePage
	}
	files, err := statetables.Files(source)
	if err != nil {
		return err
	}
	return write(a.out, files)
}
