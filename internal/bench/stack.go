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

// StackLimit is how many bytes a sleeping job may use of its stack for one of 16 KB to become one of 8 KB. The collector of Go 1.26
// halves a stack of which less than a quarter is used, and counts 800 bytes more than there are for what may still be called
// (runtime.shrinkstack, stackNosplit). Another release may count in another way: look there, and write what holds by then.
const StackLimit = 16<<10/4 - 800

const (
	// tracebacks has a process that SIGQUIT ends write the addresses of all frames.
	tracebacks = "GOTRACEBACK=system"
	// sleeps is in the stack of every workflow that waits for something.
	sleeps = "go.temporal.io/sdk/internal.(*coroutineState).yield"
	// aboveFirst is what lies on a stack above its first frame, runtime.goexit (runtime.newproc1).
	aboveFirst = 24
)

// stackOf ends the worker and finds in what it writes then how much the job that sleeps deepest uses of its stack.
func (b *bench) stackOf(s side, w *workerProcess) error {
	text, err := w.quit()
	if err != nil {
		return err
	}
	b.report.add(stackName, s.name, float64(deepestSleeper(text)))
	return nil
}

// quit ends the worker with all its stacks in its log, which it returns.
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

// deepestSleeper is how many bytes of its stack the workflow uses that sleeps deepest.
func deepestSleeper(stacks string) int {
	deepest := 0
	for stack := range strings.SplitSeq(stacks, "\n\n") {
		if header, _, _ := strings.Cut(stack, "\n"); strings.Contains(header, "[chan receive") && strings.Contains(stack, sleeps) {
			deepest = max(deepest, usedOf(stack))
		}
	}
	return deepest
}

// usedOf is how many bytes lie between the last frame of a stack and its beginning.
func usedOf(stack string) int {
	last, ok := address(stack, strings.Index(stack, " sp=0x"))
	first, found := address(stack, strings.LastIndex(stack, " fp=0x"))
	if !ok || !found {
		return 0
	}
	return first - last + aboveFirst
}

// address reads the number behind " sp=0x" or " fp=0x".
func address(stack string, at int) (int, bool) {
	if at < 0 {
		return 0, false
	}
	digits, _, _ := strings.Cut(stack[at+len(" sp=0x"):], " ")
	value, err := strconv.ParseInt(digits, 16, 64)
	return int(value), err == nil
}
