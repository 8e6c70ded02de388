package faults

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Edit replaces a text that occurs once in a source file.
type Edit struct{ File, Old, New string }

// overlay writes the edited files below root and the list of them that `go build -overlay` reads. An edit whose text does not occur
// exactly once is an error, because its fault would not be planted.
func overlay(root, dir string, edits []Edit) (string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	sources, replaced := map[string]string{}, map[string]string{}
	for _, edit := range edits {
		original := filepath.Join(root, edit.File)
		source, ok := sources[original]
		if !ok {
			text, err := os.ReadFile(original)
			if err != nil {
				return "", err
			}
			source = string(text)
		}
		if n := strings.Count(source, edit.Old); n != 1 {
			return "", fmt.Errorf("%s has the text %d times, once is needed: %q", edit.File, n, edit.Old)
		}
		sources[original] = strings.Replace(source, edit.Old, edit.New, 1)
	}
	for original, source := range sources {
		replaced[original] = filepath.Join(dir, fmt.Sprintf("overlay-%d.go", len(replaced)))
		if err := os.WriteFile(replaced[original], []byte(source), 0o600); err != nil {
			return "", err
		}
	}
	text, err := json.Marshal(map[string]any{"Replace": replaced})
	if err != nil {
		return "", err
	}
	list := filepath.Join(dir, "overlay.json")
	return list, os.WriteFile(list, text, 0o600)
}
