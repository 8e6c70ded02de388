package devserver

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/lockedfile"
)

// envExecutable is the environment variable that names the temporal executable to use. It takes precedence over PATH and the pinned
// build.
const envExecutable = "TEMPORAL_CLI"

// The values of Executable.Source.
const (
	SourceEnvironment = "$" + envExecutable
	SourcePath        = "PATH"
	SourcePinned      = "pinned build"
)

const (
	modulePath = "github.com/jobwait/jobwait"
	toolsFile  = "tools/go.mod"
	// A cached build answers in about a second; progress is reported only after this time.
	quietFor       = 3 * time.Second
	reportEvery    = 30 * time.Second
	versionTimeout = 20 * time.Second
	wayOut         = "install it (https://docs.temporal.io/cli) or set " + envExecutable + " to its path"
)

// ErrNotFound reports that no temporal executable is installed and that none can be built from the working directory.
var ErrNotFound = errors.New("devserver: no temporal command")

// Executable is a temporal command line that has answered to --version.
type Executable struct {
	Path string
	// Source is SourceEnvironment, SourcePath or SourcePinned.
	Source string
	// ServerVersion is the version of the server that it contains, such as "1.29.1".
	ServerVersion string
}

// String describes the executable for people.
func (e Executable) String() string {
	return fmt.Sprintf("%s (server %s, from %s)", e.Path, e.ServerVersion, e.Source)
}

// Find returns the temporal executable that $TEMPORAL_CLI names, or else the one on PATH, or else the build that the tools module
// pins. Building takes minutes the first time and about a second afterwards; what takes long is reported to progress, which may be
// nil. A $TEMPORAL_CLI that does not work is an error, and nothing else is tried. If nothing is installed and the working directory
// is not in a checkout, the error is [ErrNotFound].
func Find(ctx context.Context, progress io.Writer) (Executable, error) {
	dir, err := os.Getwd()
	if err != nil {
		return Executable{}, fmt.Errorf("devserver: working directory: %w", err)
	}
	if progress == nil {
		progress = io.Discard
	}
	f := finder{getenv: os.Getenv, lookPath: exec.LookPath, dir: dir, progress: progress, quietFor: quietFor, reportEvery: reportEvery}
	return f.find(ctx)
}

// finder is Find with its environment as values.
type finder struct {
	getenv      func(string) string
	lookPath    func(string) (string, error)
	dir         string
	progress    io.Writer
	quietFor    time.Duration
	reportEvery time.Duration
}

func (f finder) find(ctx context.Context) (Executable, error) {
	if path := f.getenv(envExecutable); path != "" {
		return probe(ctx, path, SourceEnvironment)
	}
	if path, err := f.lookPath("temporal"); err == nil {
		found, err := probe(ctx, path, SourcePath)
		if err == nil {
			return found, nil
		}
		f.report("passing over the temporal on PATH: %v", err)
	}
	root, err := moduleRoot(f.dir)
	if err != nil {
		return Executable{}, err
	}
	path, err := f.build(ctx, root)
	if err != nil {
		return Executable{}, err
	}
	return probe(ctx, path, SourcePinned)
}

var serverVersion = regexp.MustCompile(`\(Server ([0-9][^,)]*)`)

// probe asks for the server's version: a self-built command line calls itself 0.0.0-DEV.
func probe(ctx context.Context, path, source string) (Executable, error) {
	ctx, cancel := context.WithTimeout(ctx, versionTimeout)
	defer cancel()
	out, err := exec.CommandContext(ctx, path, "--version").Output()
	if err != nil {
		return Executable{}, fmt.Errorf("devserver: %q from %s: --version: %w; %s", path, source, err, wayOut)
	}
	match := serverVersion.FindSubmatch(out)
	if match == nil {
		return Executable{}, fmt.Errorf("devserver: %q from %s: --version answered %q, not a temporal command line with a server inside; %s",
			path, source, bytes.TrimSpace(out), wayOut)
	}
	return Executable{Path: path, Source: source, ServerVersion: string(match[1])}, nil
}

// moduleRoot walks up from dir, past nested modules, to this module's checkout.
func moduleRoot(dir string) (string, error) {
	for at := dir; ; at = filepath.Dir(at) {
		content, err := os.ReadFile(filepath.Join(at, "go.mod"))
		if err == nil && declaresModule(content) {
			return at, nil
		}
		if at == filepath.Dir(at) {
			return "", fmt.Errorf("%w: %s is not set, none is on PATH, and %q is not inside a checkout of %s to build one; %s",
				ErrNotFound, envExecutable, dir, modulePath, wayOut)
		}
	}
}

func declaresModule(goMod []byte) bool {
	for line := range strings.Lines(string(goMod)) {
		fields := strings.Fields(line)
		if len(fields) >= 2 && fields[0] == "module" {
			return strings.Trim(fields[1], `"`) == modulePath
		}
	}
	return false
}

// build lets the go command compile and cache the pinned executable, and returns its path.
func (f finder) build(ctx context.Context, root string) (string, error) {
	defer f.reportWhile(time.Now())()
	unlock, err := lockBuild(ctx)
	if err != nil {
		return "", err
	}
	defer unlock()

	cmd := exec.CommandContext(ctx, "go", "tool", "-modfile="+toolsFile, "-n", "temporal")
	cmd.Dir = root
	cmd.Env = append(cmd.Environ(), "GOWORK=off") // -modfile is refused inside a workspace
	var stderr tail
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("devserver: building the temporal command that %s pins: %w\n%s\n%s", toolsFile, err, stderr.String(), wayOut)
	}
	return strings.TrimSpace(string(out)), nil
}

// reportWhile reports the progress of something slow until the returned function is called.
func (f finder) reportWhile(start time.Time) (stop func()) {
	done, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		wait := time.NewTimer(f.quietFor)
		defer wait.Stop()
		for first := true; ; first = false {
			select {
			case <-done:
				return
			case <-wait.C:
			}
			if first {
				f.report("building Temporal's command line (once): about 1 minute of downloads and 5 minutes of compiling...")
			} else {
				f.report("still building, %s so far", time.Since(start).Round(time.Second))
			}
			wait.Reset(f.reportEvery)
		}
	}()
	return func() { close(done); <-stopped }
}

func (f finder) report(format string, args ...any) {
	_, _ = fmt.Fprintf(f.progress, format+"\n", args...) // progress that cannot be shown is no error
}

// lockBuild prevents the test binaries of one `go test ./...` from compiling the same gigabytes concurrently: the go command's
// cache does not wait for another process that is building the same entry.
func lockBuild(ctx context.Context) (unlock func(), err error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return nil, fmt.Errorf("devserver: %w", err)
	}
	dir := filepath.Join(cache, "jobwait")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("devserver: %w", err)
	}
	return lockFile(ctx, filepath.Join(dir, "temporal-build.lock"))
}

func lockFile(ctx context.Context, path string) (unlock func(), err error) {
	type locked struct {
		unlock func()
		err    error
	}
	got := make(chan locked, 1)
	go func() {
		unlock, err := lockedfile.MutexAt(path).Lock()
		got <- locked{unlock, err}
	}()
	select {
	case l := <-got:
		return l.unlock, l.err
	case <-ctx.Done():
		go func() { // the lock call itself cannot be cancelled
			if l := <-got; l.err == nil {
				l.unlock()
			}
		}()
		return nil, fmt.Errorf("devserver: waiting for %s: %w", path, ctx.Err())
	}
}
