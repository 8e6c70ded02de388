package statetables

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path"
	"reflect"
	"slices"
	"strings"
	"sync"

	"go.yaml.in/yaml/v3"
)

//go:embed tables
var builtin embed.FS

//go:embed demo
var demo embed.FS

// Builtin returns the tables that come with jobwait, except that of the demonstration provider.
func Builtin() fs.FS { return sub(builtin, "tables") }

// Demo returns the table of demo-export, the provider of jobwait's demonstration and tests.
func Demo() fs.FS { return sub(demo, "demo") }

func sub(files embed.FS, dir string) fs.FS {
	below, err := fs.Sub(files, dir)
	if err != nil {
		panic("statetables: embedded folder " + dir + ": " + err.Error())
	}
	return below
}

// maxTableBytes bounds one table file.
const maxTableBytes = 256 << 10

// Source is a place to read tables from: every *.yaml and *.yml file at the top of FS.
type Source struct {
	// Name is the prefix of file names in errors; empty for the built-in tables.
	Name string
	FS   fs.FS
}

// Set is a set of loaded tables, by provider. It is immutable and safe for concurrent use.
type Set struct {
	tables map[string]*Table
}

// Load reads, compiles and checks every table of every source and runs its examples. The error joins the faults of all files, each
// as "file.yaml:14: what is wrong; what to write instead". Two tables for the same provider are a fault.
func Load(sources ...Source) (*Set, error) {
	set := &Set{tables: map[string]*Table{}}
	files := map[string]string{}
	var faults []error
	for _, source := range sources {
		read, err := loadSource(source)
		if err != nil {
			faults = append(faults, fmt.Errorf("%s: %w", source.Name, err))
		}
		for _, one := range read {
			faults = append(faults, one.faults...)
			if one.table == nil {
				continue
			}
			provider := one.table.provider
			if other, ok := files[provider]; ok {
				faults = append(faults, fmt.Errorf("%s:1: provider %q is in %s too; a provider has one table, remove one of them", one.file, provider, other))
			}
			files[provider], set.tables[provider] = one.file, one.table
		}
	}
	if len(faults) > 0 {
		return nil, errors.Join(faults...)
	}
	return set, nil
}

// loaded is one table file, read.
type loaded struct {
	file   string
	table  *Table
	faults []error
}

// loadSource reads the files of a source side by side, in the order of their names.
func loadSource(source Source) ([]loaded, error) {
	names, err := tableFiles(source.FS)
	read := make([]loaded, len(names))
	var all sync.WaitGroup
	for i, name := range names {
		all.Go(func() {
			file := path.Join(source.Name, name)
			table, faults := loadFile(source.FS, name, file)
			read[i] = loaded{file: file, table: table, faults: faults}
		})
	}
	all.Wait()
	return read, err
}

// Table returns the table of a provider, and whether there is one.
func (s *Set) Table(provider string) (*Table, bool) {
	table, ok := s.tables[provider]
	return table, ok
}

// Providers returns the providers of the set, sorted.
func (s *Set) Providers() []string { return slices.Sorted(maps.Keys(s.tables)) }

func tableFiles(files fs.FS) ([]string, error) {
	entries, err := fs.ReadDir(files, ".")
	if notRead, ok := errors.AsType[*fs.PathError](err); ok {
		return nil, notRead.Err // the path is "." whatever the source is, whose name stands before the error
	}
	if err != nil {
		return nil, err
	}
	var names []string
	for _, entry := range entries {
		extension := path.Ext(entry.Name())
		if !entry.IsDir() && (extension == ".yaml" || extension == ".yml") {
			names = append(names, entry.Name())
		}
	}
	return names, nil
}

// loadFile reads one table; every fault of it carries file and line.
func loadFile(files fs.FS, name, file string) (*Table, []error) {
	data, err := readLimited(files, name)
	if err != nil {
		return nil, []error{fmt.Errorf("%s:1: %w", file, err)}
	}
	table, faults := parseTable(data)
	if len(faults) > 0 {
		return nil, located(file, faults)
	}
	return table, nil
}

// located are faults with their file and line, sorted.
func located(file string, faults []fault) []error {
	slices.SortFunc(faults, func(a, b fault) int { return cmp.Or(cmp.Compare(a.line, b.line), cmp.Compare(a.text, b.text)) })
	errs := make([]error, len(faults))
	for i, fault := range faults {
		errs[i] = fmt.Errorf("%s:%d: %s", file, fault.line, fault.text)
	}
	return errs
}

func readLimited(files fs.FS, name string) ([]byte, error) {
	file, err := files.Open(name)
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(file, maxTableBytes+1))
	if err = errors.Join(err, file.Close()); err != nil {
		return nil, err
	}
	if len(data) > maxTableBytes {
		return nil, fmt.Errorf("longer than %d bytes; a table is one provider's", maxTableBytes)
	}
	return data, nil
}

// parseTable decodes, compiles and checks one table and runs its examples.
func parseTable(data []byte) (*Table, []fault) {
	doc, _, decoder := decodeTable(data)
	if len(decoder.faults) > 0 {
		return nil, decoder.faults
	}
	builder := &builder{decoder: decoder, doc: &doc, table: &Table{digest: digestOf(data)}}
	builder.build()
	if len(decoder.faults) == 0 {
		builder.runExamples()
		builder.runCallbackExamples()
		builder.runSubmitExamples()
	}
	return builder.table, decoder.faults
}

// decodeTable reads a table as it is written. What is wrong with the writing is in the decoder.
func decodeTable(data []byte) (Document, *yaml.Node, *decoder) {
	decoder := &decoder{lines: map[string]int{}}
	root, broken := parseYAML(data)
	if broken != nil {
		decoder.faults = []fault{*broken}
		return Document{}, nil, decoder
	}
	var doc Document
	decoder.decode(root, "", reflect.ValueOf(&doc).Elem())
	return doc, root, decoder
}

func digestOf(data []byte) string {
	sum := sha256.Sum256(data)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// parseYAML reads one YAML document.
func parseYAML(data []byte) (*yaml.Node, *fault) {
	reader := yaml.NewDecoder(bytes.NewReader(data))
	var document, next yaml.Node
	if err := reader.Decode(&document); err != nil {
		return nil, yamlFault(err)
	}
	if err := reader.Decode(&next); !errors.Is(err, io.EOF) {
		return nil, &fault{line: max(next.Line, 1), text: "a second document begins; write one table a file"}
	}
	return document.Content[0], nil
}

// yamlFault takes the line out of the YAML library's text.
func yamlFault(err error) *fault {
	if errors.Is(err, io.EOF) {
		return &fault{line: 1, text: "the file is empty; write a table"}
	}
	line, text := 1, strings.TrimPrefix(err.Error(), "yaml: ")
	if _, scanErr := fmt.Sscanf(text, "line %d:", &line); scanErr == nil {
		_, text, _ = strings.Cut(text, ": ")
	}
	return &fault{line: line, text: "not YAML: " + text}
}
