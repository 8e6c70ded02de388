package faults

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// clockEdits make a standard library whose time.Now is wrong by some seconds or an hour. The error changes every few seconds and
// differs between processes. The monotonic clock stays right, as if somebody set a machine's clock.
func clockEdits() []Edit {
	file := filepath.Join("src", "time", "time.go")
	return []Edit{
		{file, "import (\n", "import (\n\t\"syscall\"\n"},
		{file, "\tsec, nsec, mono := runtimeNow()\n\tif mono == 0 {", "\tsec, nsec, mono := runtimeNow()\n\tsec += clockStep(mono)\n\tif mono == 0 {"},
		{file, "//go:linkname Now\n", clockStep + "\n//go:linkname Now\n"},
	}
}

const clockStep = `
var clockPhase = int64(syscall.Getpid()) * 1.3e9

// clockStep is how many seconds the wall clock is off.
func clockStep(mono int64) int64 {
	steps := [...]int64{0, 2, -2, 0, 30, -30, 5, 0, -3600, 0, 3600, -7}
	return steps[(mono+clockPhase)/4e9%int64(len(steps))]
}
`

// steppedClock writes the edited file of the standard library and the list that "go build -overlay" reads.
func steppedClock(ctx context.Context, dir string) (string, error) {
	root, err := exec.CommandContext(ctx, "go", "env", "GOROOT").Output()
	if err != nil {
		return "", fmt.Errorf("faults: where Go is: %w", err)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	list, err := overlay(strings.TrimSpace(string(root)), dir, clockEdits())
	if err != nil {
		return "", fmt.Errorf("faults: a clock that jumps: %w", err)
	}
	return list, nil
}
