package statetables

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/jobwait/jobwait/wire"
)

// File is the content of one table file, for programs that want to show what a table says rather than classify answers with it. It
// is decoded but not checked; Load checks it.
type File struct {
	// Name is the name of the file, prefixed by that of its source.
	Name string
	// Digest is that of Table.Digest.
	Digest string
	Table  Document

	data []byte
	root *yaml.Node
}

// Files decodes the table files of a source, sorted by provider.
func Files(source Source) ([]File, error) {
	names, err := tableFiles(source.FS)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", source.Name, err)
	}
	files := make([]File, len(names))
	for i, name := range names {
		if files[i], err = openFile(source, name); err != nil {
			return nil, err
		}
	}
	slices.SortFunc(files, func(a, b File) int { return cmp.Compare(a.Table.Provider, b.Table.Provider) })
	return files, nil
}

func openFile(source Source, name string) (File, error) {
	file := File{Name: path.Join(source.Name, name)}
	data, err := readLimited(source.FS, name)
	if err != nil {
		return File{}, fmt.Errorf("%s:1: %w", file.Name, err)
	}
	doc, root, decoder := decodeTable(data)
	if len(decoder.faults) > 0 {
		return File{}, located(file.Name, decoder.faults)[0]
	}
	file.Digest, file.Table, file.data, file.root = digestOf(data), doc, data, root
	return file, nil
}

// Load compiles and checks this table and runs its examples, as the function Load does for all tables of a source.
func (f File) Load() (*Table, error) {
	table, faults := parseTable(f.data)
	if len(faults) > 0 {
		return nil, errors.Join(located(f.Name, faults)...)
	}
	return table, nil
}

// MarshalJSON encodes the table with the keys of its file, in their order. Numbers keep their digits, and what YAML would resolve to
// another type, such as a date, stays a string.
func (f File) MarshalJSON() ([]byte, error) {
	return jsonOf(f.root, func(node *yaml.Node) (string, error) { return quote(node.Value) })
}

// Job returns a spec that names the job of the examples. Its other fields are empty.
func (f File) Job() wire.Spec { return f.Table.ExampleJob.spec(f.Table.Provider) }

// Example is one example of a table: an answer, the job it is about, and what it must be read as.
type Example struct {
	Name string
	// Job names the job, as File.Job does.
	Job      wire.Spec
	Reading  wire.ReadingContext
	Response Response
	Want     WantDoc
}

// Examples returns the examples of the table, in their order. The error names an example whose answer cannot be built.
func (f File) Examples() ([]Example, error) {
	examples := make([]Example, len(f.Table.Examples))
	for i, written := range f.Table.Examples {
		response, reading, err := written.Given.answer()
		if err != nil {
			return nil, fmt.Errorf("%s: example %q: %w", f.Name, written.Name, err)
		}
		examples[i] = Example{
			Name: written.Name, Job: written.Job.over(f.Table.ExampleJob).spec(f.Table.Provider),
			Reading: reading, Response: response, Want: written.Want,
		}
	}
	return examples, nil
}

// Differences lists the fields in which an observation differs from what the example wants; empty if there are none.
func (e Example) Differences(got wire.Observation) []string { return e.Want.differences(got) }

// SubmitExample is one example of submitting with a table: an answer, what was asked for, and what it must be read as.
type SubmitExample struct {
	Name string
	// Target is what is submitted to: a job without an id.
	Target wire.Target
	// Key is the idempotency key that was sent, where the table knows one.
	Key      string
	Response Response
	Want     WantSubmitDoc
}

// Submissions returns the examples of submitting, in their order. The error names an example whose answer cannot be built.
func (f File) Submissions() ([]SubmitExample, error) {
	if f.Table.Submit == nil || f.Table.Submit.Answer == nil {
		return nil, nil
	}
	examples := make([]SubmitExample, len(f.Table.Submit.Examples))
	for i := range f.Table.Submit.Examples {
		var err error
		if examples[i], err = f.Table.submission(i); err != nil {
			return nil, fmt.Errorf("%s: submit: example %q: %w", f.Name, examples[i].Name, err)
		}
	}
	return examples, nil
}

// submission is an example of submitting; its error is that of its answer.
func (d *Document) submission(i int) (SubmitExample, error) {
	written := d.Submit.Examples[i]
	response, _, err := written.Given.answer()
	return SubmitExample{
		Name: written.Name, Target: d.submitted(), Key: cmp.Or(written.Key, "example-key"), Response: response, Want: written.Want,
	}, err
}

// submitted is the example job without what only the answer to a submission tells.
func (d *Document) submitted() wire.Target {
	target := targetOf(d.ExampleJob.spec(d.Provider))
	target.ProviderJobID, target.StatusURL = "", ""
	target.Params = maps.Clone(target.Params)
	maps.DeleteFunc(target.Params, func(name, _ string) bool { return d.Submit.Answer.Params[name] != "" })
	return target
}

// Differences lists the fields in which a reading differs from what the example wants; empty if there are none.
func (e SubmitExample) Differences(got SubmissionReading) []string { return e.Want.differences(got) }
