package faults

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// process is a child that is not waited for by the run, but by itself.
type process struct {
	cmd   *exec.Cmd
	ended chan struct{}
}

// spawn starts a program. Nobody's context ends it: stop or kill do.
func spawn(path string, args, env []string, log io.Writer) (*process, error) {
	p := &process{cmd: exec.Command(path, args...), ended: make(chan struct{})} //nolint:noctx // see above
	p.cmd.Env = append(os.Environ(), env...)
	p.cmd.Stdout, p.cmd.Stderr = log, log
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("faults: %s: %w", path, err)
	}
	go func() {
		_ = p.cmd.Wait() // how it ended is in its log
		close(p.ended)
	}()
	return p, nil
}

// signal sends a signal to the process, by its id. One that has gone already is no error.
func (p *process) signal(s os.Signal) error {
	if err := p.cmd.Process.Signal(s); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("faults: process %d: %w", p.cmd.Process.Pid, err)
	}
	return nil
}

// runs reports whether the process has not ended.
func (p *process) runs() bool {
	select {
	case <-p.ended:
		return false
	default:
		return true
	}
}

// kill ends the process as a crash would and waits until it is gone.
func (p *process) kill() {
	_ = p.signal(os.Kill)
	<-p.ended
}

// stop asks the process to end and kills it if it has not in time.
func (p *process) stop(patience time.Duration) error {
	err := p.signal(syscall.SIGTERM)
	select {
	case <-p.ended:
		return err
	case <-time.After(patience):
		p.kill()
		return errors.Join(err, fmt.Errorf("faults: process %d did not stop within %s", p.cmd.Process.Pid, patience))
	}
}

// Binaries are the programs of a run.
type Binaries struct {
	Workers  map[Build]string
	Provider string
}

const module = "github.com/jobwait/jobwait"

// BuildBinaries builds the programs into a directory. flags are further flags for the workers' builds.
func BuildBinaries(ctx context.Context, dir string, flags ...string) (Binaries, error) {
	made := Binaries{Workers: map[Build]string{}, Provider: filepath.Join(dir, "fakeprovider")}
	for _, build := range []Build{Old, New} {
		made.Workers[build] = filepath.Join(dir, "worker-"+string(build))
		versioned := append([]string{"-ldflags", "-X main.version=" + string(build)}, flags...)
		if err := goBuild(ctx, made.Workers[build], module+"/worker", versioned...); err != nil {
			return Binaries{}, err
		}
	}
	return made, goBuild(ctx, made.Provider, module+"/waittest/fakeprovider")
}

func goBuild(ctx context.Context, to, pkg string, flags ...string) error {
	args := append(append([]string{"build"}, flags...), "-o", to, pkg)
	if out, err := exec.CommandContext(ctx, "go", args...).CombinedOutput(); err != nil {
		return fmt.Errorf("faults: go %s: %w\n%s", strings.Join(args, " "), err, out)
	}
	return nil
}

// moduleRoot is where the module's files are.
func moduleRoot(ctx context.Context) (string, error) {
	out, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", module).Output()
	if err != nil {
		return "", fmt.Errorf("faults: where the module is: %w", err)
	}
	return strings.TrimSpace(string(out)), nil
}
