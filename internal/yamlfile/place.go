package yamlfile

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
)

// Place says where a value is that does not stand in the file itself, as a secret: in an environment variable or in a file.
type Place struct {
	Env  string `yaml:"env"`
	File string `yaml:"file"`
}

// Validate reports a place that names both or neither.
func (p Place) Validate() error {
	if (p.Env == "") == (p.File == "") {
		return errors.New("exactly one of env and file says where the value is")
	}
	return nil
}

// String names the place, never the value.
func (p Place) String() string {
	if p.Env != "" {
		return "env " + p.Env
	}
	return "file " + p.File
}

// Read reads the value afresh. A relative file is looked for beside the file at path, and one line ending at its end is not
// part of the value.
func (p Place) Read(path string) (string, error) {
	if p.Env != "" {
		return os.Getenv(p.Env), nil
	}
	file := p.File
	if !filepath.IsAbs(file) {
		file = filepath.Join(filepath.Dir(path), file)
	}
	data, err := ReadBounded(file)
	return strings.TrimSuffix(strings.TrimSuffix(string(data), "\n"), "\r"), err
}
