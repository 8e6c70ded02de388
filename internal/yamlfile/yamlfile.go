// Package yamlfile reads the YAML files that people write for workers and commands.
package yamlfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"

	"go.yaml.in/yaml/v3"
)

// maxBytes bounds the files that a person wrote.
const maxBytes = 1 << 20

// Read reads one YAML document strictly; what names the kind of file in errors. The parser's own complaints repeat values,
// and a value in the wrong place may be a secret: only the line is kept of them.
func Read(what, path string, into any) error {
	data, err := ReadBounded(path)
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return Parse(what, path, data, into)
}

// Parse reads the text of a file as Read does.
func Parse(what, path string, data []byte, into any) error {
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	decoder.KnownFields(true)
	if err := decoder.Decode(into); err != nil {
		return fmt.Errorf("%s: %s: %s", what, path, complaint(err))
	}
	if err := decoder.Decode(&yaml.Node{}); !errors.Is(err, io.EOF) {
		return fmt.Errorf("%s: %s: one YAML document is wanted, something follows it", what, path)
	}
	return nil
}

// ReadBounded reads a file of at most 1 MiB.
func ReadBounded(path string) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, maxBytes+1))
	if err == nil && len(data) > maxBytes {
		return nil, fmt.Errorf("%s: more than %d bytes", path, maxBytes)
	}
	return data, err
}

var yamlLine = regexp.MustCompile(`line \d+`)

func complaint(err error) string {
	if errors.Is(err, io.EOF) {
		return "the file is empty"
	}
	text := "not readable as YAML"
	if typeError := new(yaml.TypeError); errors.As(err, &typeError) {
		text = "a field that is not known, given twice, or of the wrong type"
	}
	if line := yamlLine.FindString(err.Error()); line != "" {
		return line + ": " + text
	}
	return text
}
