package startercmd

import (
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/jobwait/jobwait/internal/sheet"
	"github.com/jobwait/jobwait/statetables"
)

// tableFile is a table that this command knows, and where from.
type tableFile struct {
	statetables.File
	from string
}

// tableFiles are the built-in tables, the demonstration's, and those of a directory.
func tableFiles(dir string) ([]tableFile, error) {
	sources := []struct {
		from   string
		source statetables.Source
	}{
		{"built in", statetables.Source{FS: statetables.Builtin()}},
		{"built in, with worker --demo", statetables.Source{Name: "demo", FS: statetables.Demo()}},
		{dir, statetables.Source{Name: dir, FS: os.DirFS(dir)}},
	}
	if dir == "" {
		sources = sources[:2]
	}
	var all []tableFile
	for _, known := range sources {
		files, err := statetables.Files(known.source)
		if err != nil {
			return nil, err
		}
		for _, file := range files {
			all = append(all, tableFile{file, known.from})
		}
	}
	return all, nil
}

// tableOf is the table of a provider.
func (a *app) tableOf(provider, dir string) (tableFile, error) {
	files, err := tableFiles(dir)
	if err != nil {
		return tableFile{}, err
	}
	i := slices.IndexFunc(files, func(file tableFile) bool { return file.Table.Provider == provider })
	if i < 0 {
		return tableFile{}, hinted(usagef("provider %q has no state table%s", provider, closest(provider, files)),
			"`%s tables list` shows all; --tables adds those of a directory", a.name)
	}
	return files[i], nil
}

// closest names providers that may have been meant.
func closest(provider string, files []tableFile) string {
	var names []string
	for _, file := range files {
		if matches(file, strings.Split(provider, "-")[0]) {
			names = append(names, file.Table.Provider)
		}
	}
	if len(names) == 0 {
		return ""
	}
	return "; there are " + strings.Join(names, ", ")
}

// matches looks for a text in what a table is called.
func matches(file tableFile, text string) bool {
	return strings.Contains(strings.ToLower(file.Table.Provider+" "+file.Table.Title), strings.ToLower(text))
}

// listFilter says which tables are listed.
type listFilter struct {
	text          string
	with, without []string
}

func (f listFilter) check() error {
	for _, word := range slices.Concat(f.with, f.without) {
		if !slices.Contains(sheet.AllFeatures(), word) {
			return usagef("there is no feature %q; there are %s", word, strings.Join(sheet.AllFeatures(), ", "))
		}
	}
	return nil
}

func (f listFilter) takes(file tableFile, features []string) bool {
	has := func(word string) bool { return slices.Contains(features, word) }
	return matches(file, f.text) && !slices.ContainsFunc(f.without, has) &&
		!slices.ContainsFunc(f.with, func(word string) bool { return !has(word) })
}

func (a *app) tablesListCommand() *cobra.Command {
	var filter listFilter
	var dir string
	var asJSON bool
	command := &cobra.Command{
		Use:   "list [TEXT]",
		Short: "list the providers that have a table",
		Long: `List shows the tables whose provider or title holds TEXT, in any case, and that have the features asked for:

  bearer, basic, header, query, no-auth   how a credential is sent; more than one where the provider takes several
  cancel                                  the provider documents a cancel call
  partial, needs-input                    a job may end with a part of its work lost, or stand still until somebody acts
  hints                                   the answers say when to ask again, besides Retry-After
  status-url                              polled at the URL that the submission was answered with
  submit                                  a job can be submitted with the table
  params                                  a spec must, or may, bring values of its own`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 {
				return usagef("%d arguments, one text is wanted", len(args))
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error {
			filter.text = strings.Join(args, "")
			return a.listTables(filter, dir, asJSON)
		},
	}
	command.Flags().StringSliceVar(&filter.with, "with", nil, "`feature` that a table must have; may be repeated")
	command.Flags().StringSliceVar(&filter.without, "without", nil, "`feature` that a table must not have; may be repeated")
	command.Flags().StringVar(&dir, "tables", "", "`directory` with tables of your own, listed too")
	command.Flags().BoolVar(&asJSON, "json", false, "as JSON")
	return command
}

// listed is one table.
type listed struct {
	Provider string   `json:"provider"`
	Title    string   `json:"title"`
	Features []string `json:"features"`
	Source   string   `json:"source"`
	Digest   string   `json:"digest"`
}

func (a *app) listTables(filter listFilter, dir string, asJSON bool) error {
	if err := filter.check(); err != nil {
		return err
	}
	if _, err := localTables(dir); err != nil { // what cannot be waited with is not listed
		return err
	}
	tables, err := gatherTables(filter, dir)
	if err != nil {
		return err
	}
	if asJSON {
		return a.printJSON(tables)
	}
	rows := [][]string{{"PROVIDER", "TITLE", "FEATURES", "FROM"}}
	for _, table := range tables {
		rows = append(rows, []string{table.Provider, table.Title, strings.Join(table.Features, ","), table.Source})
	}
	return writeTable(a.out, rows)
}

func gatherTables(filter listFilter, dir string) ([]listed, error) {
	files, err := tableFiles(dir)
	if err != nil {
		return nil, err
	}
	tables := []listed{}
	for _, file := range files {
		if features := sheet.Features(file.Table); filter.takes(file, features) {
			tables = append(tables, listed{file.Table.Provider, file.Table.Title, features, file.from, file.Digest})
		}
	}
	return tables, nil
}
