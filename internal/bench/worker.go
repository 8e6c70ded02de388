package bench

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

// usage is what a process has used.
type usage struct {
	cpu      time.Duration
	resident int64
}

// memory is what a worker reports about itself after it has released what it did not need.
type memory struct {
	// Heap and Stacks are in use, in bytes.
	Heap   uint64 `json:"heap"`
	Stacks uint64 `json:"stacks"`
}

// workerProcess is the worker of one side, a separate process: this program in another role.
type workerProcess struct {
	cmd   *exec.Cmd
	stdin io.WriteCloser
	out   *bufio.Reader
	log   *os.File
	ended bool // by quit
}

const stopPatience = 20 * time.Second

// startWorker starts this program as a worker. Its log goes to a file of its own.
func startWorker(program, role, logFile string, args, env []string) (*workerProcess, error) {
	log, err := os.OpenFile(logFile, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	w := &workerProcess{cmd: exec.Command(program, args...), log: log} //nolint:noctx // stop ends it
	w.cmd.Env = append(append(os.Environ(), roleVariable+"="+role, tracebacks), env...)
	w.cmd.Stderr = log
	out, err := w.cmd.StdoutPipe()
	if err != nil {
		return nil, errors.Join(err, log.Close())
	}
	w.out = bufio.NewReader(out)
	if w.stdin, err = w.cmd.StdinPipe(); err != nil {
		return nil, errors.Join(err, log.Close())
	}
	if err := w.cmd.Start(); err != nil {
		return nil, errors.Join(fmt.Errorf("bench: %s: %w", filepath.Base(program), err), log.Close())
	}
	return w, nil
}

func (w *workerProcess) pid() int { return w.cmd.Process.Pid }

// ask sends one line to the worker's control and returns the answer.
func (w *workerProcess) ask(line string, answer any) error {
	if _, err := io.WriteString(w.stdin, line+"\n"); err != nil {
		return fmt.Errorf("bench: worker %d: %w", w.pid(), err)
	}
	text, err := w.out.ReadBytes('\n')
	if err != nil {
		return fmt.Errorf("bench: worker %d ended; see %s", w.pid(), w.log.Name())
	}
	return json.Unmarshal(text, answer)
}

// settle makes the worker release memory and returns what it keeps.
func (w *workerProcess) settle() (memory, error) {
	var kept memory
	return kept, w.ask("settle", &kept)
}

// stop ends the worker, and kills it if that takes too long.
func (w *workerProcess) stop() error {
	if w.ended {
		return w.log.Close()
	}
	force := time.AfterFunc(stopPatience, func() { _ = w.cmd.Process.Kill() })
	defer force.Stop()
	err := w.cmd.Process.Signal(syscall.SIGTERM)
	_ = w.stdin.Close()
	_, _ = io.Copy(io.Discard, w.out) // to its end, or Wait would cut it off
	return errors.Join(err, w.cmd.Wait(), w.log.Close())
}
