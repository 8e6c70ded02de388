package fleet

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/jobwait/jobwait/internal/bed"
	"github.com/jobwait/jobwait/internal/child"
)

// worker is a stock worker that runs.
type worker struct {
	*child.Process
	metrics string
	log     *os.File
}

func build(ctx context.Context, path string) error {
	out, err := exec.CommandContext(ctx, "go", "build", "-o", path, "github.com/jobwait/jobwait/worker").CombinedOutput()
	if err != nil {
		return fmt.Errorf("fleet: building the worker: %w\n%s", err, out)
	}
	return nil
}

// writeFiles writes what the workers read: the provider's key, and each worker's part of the rate.
func (f *fleet) writeFiles() error {
	origin := f.bed.Provider.URL()
	credentials := `credentials: {demo: {version: "1", env: FLEET_KEY, origins: ["` + origin + `"]}}`
	origins := "default: {}\n"
	if f.Rate > 0 {
		origins = fmt.Sprintf("origins: {%q: {requests_per_second: %s}}\n", origin, strconv.FormatFloat(f.Rate/float64(f.Workers), 'f', -1, 64))
	}
	return errors.Join(
		os.WriteFile(filepath.Join(f.dir, "credentials.yaml"), []byte(credentials), 0o600),
		os.WriteFile(filepath.Join(f.dir, "origins.yaml"), []byte(origins), 0o600),
	)
}

// hire starts the workers.
func (f *fleet) hire() error {
	for i := range f.Workers {
		w, err := f.startWorker(i)
		if err != nil {
			return err
		}
		f.workers = append(f.workers, w)
	}
	return nil
}

func (f *fleet) startWorker(i int) (*worker, error) {
	log, err := os.OpenFile(filepath.Join(f.dir, fmt.Sprintf("worker-%d.log", i)), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	metrics, err := freeAddress()
	if err != nil {
		return nil, err
	}
	process, err := child.Start(child.Command{
		Path: filepath.Join(f.dir, "worker"), Dir: f.dir, Log: log,
		Args: []string{
			"--demo", "--credentials", "credentials.yaml", "--origins", "origins.yaml", "--metrics-addr", metrics, "--log-level", "warn",
		},
		Env: []string{"FLEET_KEY=" + bed.Key, "TEMPORAL_ADDRESS=" + f.bed.Server.Address, "TEMPORAL_NAMESPACE=" + f.bed.Namespace},
	})
	if err != nil {
		return nil, errors.Join(err, log.Close())
	}
	return &worker{process, metrics, log}, nil
}

func freeAddress() (string, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // it listens for a moment
	if err != nil {
		return "", err
	}
	return listener.Addr().String(), listener.Close()
}

// dismiss kills the workers.
func (f *fleet) dismiss() error {
	var errs []error
	for _, w := range f.workers {
		errs = append(errs, w.Kill(), w.log.Close())
	}
	f.workers = nil
	return errors.Join(errs...)
}

// held is how often the workers have held back a request.
func (f *fleet) held(ctx context.Context) (float64, error) {
	total := 0.0
	for _, w := range f.workers {
		n, err := w.counted(ctx, "jobwait_held_back_total")
		if err != nil {
			return 0, err
		}
		total += n
	}
	return total, nil
}

// counted is the sum of a counter over all labels. A worker that does not listen yet has counted nothing.
func (w *worker) counted(ctx context.Context, name string) (float64, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+w.metrics+"/metrics", nil)
	if err != nil {
		return 0, err
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, ctx.Err()
	}
	defer answer.Body.Close()
	total := 0.0
	lines := bufio.NewScanner(answer.Body)
	for lines.Scan() {
		if !strings.HasPrefix(lines.Text(), name) {
			continue
		}
		fields := strings.Fields(lines.Text())
		n, err := strconv.ParseFloat(fields[len(fields)-1], 64)
		if err != nil {
			return 0, fmt.Errorf("fleet: metrics: %w", err)
		}
		total += n
	}
	return total, lines.Err()
}
