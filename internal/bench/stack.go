package bench

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
)

const stackName = "stack of a waiting job"

// StackLimit is how many bytes of its stack a sleeping job may use for the collector to shrink the stack from 16 KB to 8 KB. Go
// 1.26 halves a stack if less than a quarter is used, and adds 800 bytes to what is used for functions that may still be called
// without a stack check (runtime.shrinkstack, stackNosplit). Another release may do otherwise: look there, and adapt the number.
const StackLimit = 16<<10/4 - 800

const (
	// tracebacks makes a process that SIGQUIT ends write the addresses of all frames.
	tracebacks = "GOTRACEBACK=system"
	// sleeps is a function on the stack of every workflow that waits for something.
	sleeps = "go.temporal.io/sdk/internal.(*coroutineState).yield"
	// aboveFirst is the number of bytes above the first frame of a stack, runtime.goexit (runtime.newproc1).
	aboveFirst = 24
)

// stackOf ends the worker and finds in its output how much of its stack the deepest sleeping job uses.
func (b *bench) stackOf(s side, w *workerProcess) error {
	text, err := w.quit()
	if err != nil {
		return err
	}
	b.report.add(stackName, s.name, float64(deepestSleeper(text)))
	return nil
}

// quit ends the worker such that it logs all its stacks, and returns the log.
func (w *workerProcess) quit() (string, error) {
	if err := w.cmd.Process.Signal(syscall.SIGQUIT); err != nil {
		return "", err
	}
	_, _ = io.Copy(io.Discard, w.out)
	if err := w.cmd.Wait(); !errors.As(err, new(*exec.ExitError)) {
		return "", fmt.Errorf("bench: worker %d after SIGQUIT: %w", w.pid(), err)
	}
	w.ended = true
	text, err := os.ReadFile(w.log.Name())
	return string(text), err
}

// deepestSleeper returns how many bytes of its stack the deepest sleeping workflow uses.
func deepestSleeper(stacks string) int {
	deepest := 0
	for stack := range strings.SplitSeq(stacks, "\n\n") {
		if header, _, _ := strings.Cut(stack, "\n"); strings.Contains(header, "[chan receive") && strings.Contains(stack, sleeps) {
			deepest = max(deepest, usedOf(stack))
		}
	}
	return deepest
}

// usedOf returns how many bytes lie between the last frame of a stack and its beginning.
func usedOf(stack string) int {
	last, ok := address(stack, strings.Index(stack, " sp=0x"))
	first, found := address(stack, strings.LastIndex(stack, " fp=0x"))
	if !ok || !found {
		return 0
	}
	return first - last + aboveFirst
}

// address reads the number after " sp=0x" or " fp=0x".
func address(stack string, at int) (int, bool) {
	if at < 0 {
		return 0, false
	}
	digits, _, _ := strings.Cut(stack[at+len(" sp=0x"):], " ")
	value, err := strconv.ParseInt(digits, 16, 64)
	return int(value), err == nil
}
