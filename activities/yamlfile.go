package activities

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"

	"go.yaml.in/yaml/v3"
)

// maxFileBytes bounds the files that a person wrote.
const maxFileBytes = 1 << 20

// readYAML reads one YAML document strictly. The parser's own complaints repeat values, and a value in the wrong place may
// be a secret: only the line is kept of them.
func readYAML(what, path string, into any) error {
	data, err := readBounded(path)
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return parseYAML(what, path, data, into)
}

func parseYAML(what, path string, data []byte, into any) error {
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

func readBounded(path string) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, maxFileBytes+1))
	if err == nil && len(data) > maxFileBytes {
		return nil, fmt.Errorf("%s: more than %d bytes", path, maxFileBytes)
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
