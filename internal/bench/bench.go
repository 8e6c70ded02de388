package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/jobwait/jobwait/internal/devserver"
)

// bench is the state of a run.
type bench struct {
	options     Options
	progress    io.Writer
	program     string
	credentials string
	executable  devserver.Executable
	provider    *provider
	turns       int
	report      *Report
	// saturated is how many polls per second the bare loop reaches at saturation.
	saturated float64
}

// Run measures and returns a report. The options say what to measure; progress receives what is being done. When it returns,
// everything that it started has ended. CPU time and memory of other processes are read only on Linux; elsewhere these figures are
// missing.
func Run(ctx context.Context, options Options, progress io.Writer) (*Report, error) {
	if err := options.Validate(); err != nil {
		return nil, err
	}
	b := &bench{options: options, progress: progress}
	err := b.open(ctx)
	if err == nil {
		err = b.measure(ctx)
		b.report.end(ctx)
	}
	return b.report, errors.Join(err, b.close())
}

func (b *bench) open(ctx context.Context) (err error) {
	if b.executable, err = devserver.Find(ctx, b.progress); err != nil {
		return err
	}
	b.report = newReport(b.executable.ServerVersion)
	if b.program, err = os.Executable(); err != nil {
		return err
	}
	if b.provider, err = newProvider(ctx); err != nil {
		return err
	}
	return b.writeCredentials()
}

func (b *bench) writeCredentials() error {
	b.credentials = filepath.Join(b.options.Dir, "credentials.yaml")
	text := fmt.Sprintf("credentials:\n  demo: {version: \"1\", env: BENCH_KEY, origins: [%q]}\n", b.provider.origin())
	return os.WriteFile(b.credentials, []byte(text), 0o600)
}

func (b *bench) close() error {
	if b.provider == nil {
		return nil
	}
	return b.provider.close()
}

func (b *bench) newWorker(h *host, s side, queue string) (*workerProcess, error) {
	return startWorker(b.program, s.role, filepath.Join(b.options.Dir, queue+".log"), s.args(queue), h.env())
}

// measure runs the phases. The longest waits are recorded during all of them.
func (b *bench) measure(ctx context.Context) error {
	recording, err := b.startLong(ctx)
	if err != nil {
		return err
	}
	for _, phase := range []struct {
		name Phase
		run  func(context.Context) error
	}{
		{PhaseCosts, b.costs},
		{PhaseSaturation, b.saturation},
		{PhaseHalfLoad, b.halfLoad},
		{PhaseStarvation, b.starvation},
		{PhaseReplay, recording.replay},
		{PhaseMemory, b.memory},
	} {
		if !b.options.runs(phase.name) {
			continue
		}
		b.tell("%s", phase.name)
		if err := phase.run(ctx); err != nil {
			return errors.Join(fmt.Errorf("%s: %w", phase.name, err), recording.stop())
		}
	}
	return recording.stop()
}

func (b *bench) tell(format string, args ...any) {
	_, _ = fmt.Fprintf(b.progress, time.Now().UTC().Format("15:04:05")+" "+format+"\n", args...)
}
