// Package child runs programs that outlive the call that started them and that are signalled, killed and replaced by their starter.
package child

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"time"
)

// Command is a program to run.
type Command struct {
	Path string
	Args []string
	// Env is added to this process's own.
	Env []string
	// Dir is where it runs; empty: where this process does.
	Dir string
	// Log takes what it writes; nil drops it.
	Log io.Writer
	// User is who runs it; nil: who runs this process. Only root may name another.
	User *User
	// OnDeath is the signal that it gets when this process dies first, where the system can do that (Linux); 0: SIGKILL.
	OnDeath syscall.Signal
}

// User is somebody of this machine.
type User struct{ UID, GID uint32 }

// Process is a child. Nobody's context ends it: Stop and Kill do.
type Process struct {
	cmd   *exec.Cmd
	ended chan struct{}
}

// Start starts a program.
func Start(c Command) (*Process, error) {
	p := &Process{cmd: exec.Command(c.Path, c.Args...), ended: make(chan struct{})} //nolint:noctx // see Process
	p.cmd.Env = append(os.Environ(), c.Env...)
	p.cmd.Dir, p.cmd.Stdout, p.cmd.Stderr = c.Dir, c.Log, c.Log
	p.cmd.SysProcAttr = attributes(c)
	if err := p.launch(); err != nil {
		return nil, fmt.Errorf("child: %s: %w", c.Path, err)
	}
	return p, nil
}

// launch starts the child on a thread that lives as long as the child: Linux sends the signal of a parent's death when the thread
// that started it ends.
func (p *Process) launch() error {
	started := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		err := p.cmd.Start()
		started <- err
		if err == nil {
			_ = p.cmd.Wait() // how it ended is in its log
			close(p.ended)
		}
	}()
	return <-started
}

// Signal sends a signal to the process, by its id. One that has gone already is no error.
func (p *Process) Signal(s os.Signal) error {
	if err := p.cmd.Process.Signal(s); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("child: process %d: %w", p.cmd.Process.Pid, err)
	}
	return nil
}

// Ended is closed when the process has ended, for whatever reason.
func (p *Process) Ended() <-chan struct{} { return p.ended }

// Runs reports whether the process has not ended.
func (p *Process) Runs() bool {
	select {
	case <-p.ended:
		return false
	default:
		return true
	}
}

// Code is the exit code of a process that has ended, -1 where a signal has ended it.
func (p *Process) Code() int {
	<-p.ended
	return p.cmd.ProcessState.ExitCode()
}

// Kill ends the process as a crash would and waits until it is gone.
func (p *Process) Kill() error {
	err := p.Signal(os.Kill)
	if err == nil {
		<-p.ended
	}
	return err
}

// Stop asks the process to end, by that signal, and kills it if it has not in time, which is an error.
func (p *Process) Stop(by os.Signal, patience time.Duration) error {
	if err := p.Signal(by); err != nil {
		return err
	}
	select {
	case <-p.ended:
		return nil
	case <-time.After(patience):
		return errors.Join(p.Kill(), fmt.Errorf("child: process %d did not stop within %s", p.cmd.Process.Pid, patience))
	}
}
