package faults

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/jobwait/jobwait/internal/child"
)

// workers are the worker processes of a run, each in its place. One that ends by itself is restarted, as by a supervisor; if that
// does not help, the run ends.
type workers struct {
	dir     string
	command func(Fault) child.Command // how one is started, without its log
	fail    func(error)               // ends the run

	mu      sync.Mutex
	places  []place
	leaving []*child.Process // told to end, and replaced already
	logs    []*os.File
	excused time.Time // the end of a worker that started before then does not count: the server was away
	closed  bool
}

// place runs one worker at a time.
type place struct {
	process *child.Process // the latest one here; nil if there was none yet
	build   Build
	since   time.Time
	told    bool // to end, by a fault
	ended   int  // how many in a row have ended by themselves
}

const (
	// inARow is how many workers in a row may end by themselves in a place before the run is given up. One that has run for the time
	// stayed begins a new row.
	inARow = 3
	stayed = time.Minute
	// restartAfter is the time from such an end to the restart.
	restartAfter = 500 * time.Millisecond
	// settles is the time after a server's start in which it may still be the reason why workers end.
	settles = 10 * time.Second
)

// WorkerError reports that a worker cannot start or keeps ending, so that the run proves nothing.
type WorkerError struct {
	Name  string
	Build Build
	Code  int
	// Last is the end of its log.
	Last string
}

func (e *WorkerError) Error() string {
	return fmt.Sprintf("faults: %s (build %q) has ended by itself %d times in a row, the last time with exit code %d; its last lines:\n%s",
		e.Name, e.Build, inARow, e.Code, e.Last)
}

func newWorkers(options Options, command func(Fault) child.Command, fail func(error)) *workers {
	return &workers{dir: options.Dir, command: command, fail: fail, places: make([]place, options.places())}
}

// start starts a worker, unless one runs in that place. It does not wait for one that was told to end: both then run side by side,
// as in a rolling upgrade.
func (w *workers) start(as Fault) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	at := &w.places[as.Worker]
	if p := at.running(); p != nil {
		if !at.told {
			return nil
		}
		w.leaving = append(w.leaving, p)
	}
	at.ended = 0
	return w.launch(as)
}

// launch starts a worker and watches for its end.
func (w *workers) launch(as Fault) error {
	log, err := w.log(as)
	if err != nil {
		return err
	}
	command := w.command(as)
	command.Log = log
	p, err := child.Start(command)
	if err != nil {
		return err
	}
	at := &w.places[as.Worker]
	at.process, at.build, at.since, at.told = p, as.Build, time.Now(), false
	go func() {
		<-p.Ended()
		w.gone(p, as)
	}()
	return nil
}

// gone handles the end of a worker. One that a fault has ended is replaced by the plan.
func (w *workers) gone(p *child.Process, as Fault) {
	w.mu.Lock()
	defer w.mu.Unlock()
	at := &w.places[as.Worker]
	if !w.left(at, p) {
		return
	}
	if time.Since(at.since) > stayed {
		at.ended = 0
	}
	as.FullDisk = false // so that its last lines can be reported
	if at.since.After(w.excused) {
		at.ended++
	}
	if at.ended == inARow {
		w.fail(&WorkerError{Name: workerName(as.Worker), Build: as.Build, Code: p.Code(), Last: lastLines(w.logFile(as))})
		return
	}
	time.AfterFunc(restartAfter, func() { w.restart(p, as) })
}

// left reports whether a process was the latest one in its place and nobody told it to end.
func (w *workers) left(at *place, p *child.Process) bool {
	return !w.closed && !at.told && at.process == p
}

// restart starts a worker in place of one that has ended by itself.
func (w *workers) restart(after *child.Process, as Fault) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.left(&w.places[as.Worker], after) {
		return
	}
	if err := w.launch(as); err != nil {
		w.fail(err)
	}
}

// serverLeaves makes the ends of workers not count while the server or its database is away; serverIsBack ends that after a while.
func (w *workers) serverLeaves() { w.excuse(time.Hour) }

func (w *workers) serverIsBack() { w.excuse(settles) }

func (w *workers) excuse(by time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.excused = time.Now().Add(by)
}

// running returns the process that runs in a place; nil if none does.
func (p place) running() *child.Process {
	if p.process != nil && p.process.Runs() {
		return p.process
	}
	return nil
}

// signal sends the signal of a fault to a worker, if it runs.
func (w *workers) signal(fault Fault) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	at := &w.places[fault.Worker]
	p := at.running()
	if p == nil {
		return nil
	}
	at.told = at.told || fault.Do == KillWorker || fault.Do == StopWorker
	return p.Signal(map[Action]os.Signal{
		KillWorker: os.Kill, StopWorker: syscall.SIGTERM, FreezeWorker: freeze, ThawWorker: thaw,
	}[fault.Do])
}

// finishUpgrade replaces the old workers that are left after the rollout.
func (w *workers) finishUpgrade() error {
	var errs []error
	for _, worker := range w.old() {
		for _, do := range []Action{ThawWorker, StopWorker} {
			errs = append(errs, w.signal(Fault{Do: do, Worker: worker}))
		}
		errs = append(errs, w.start(Fault{Worker: worker, Build: New}))
	}
	return errors.Join(errs...)
}

// old returns the places in which old workers run.
func (w *workers) old() []int {
	w.mu.Lock()
	defer w.mu.Unlock()
	var places []int
	for worker, at := range w.places {
		if at.build == Old && at.running() != nil {
			places = append(places, worker)
		}
	}
	return places
}

// mend starts or thaws every worker that is down, at the end of the faults.
func (w *workers) mend() error {
	var errs []error
	for worker := range w.places {
		errs = append(errs, w.signal(Fault{Do: ThawWorker, Worker: worker}), w.start(Fault{Worker: worker, Build: New}))
	}
	return errors.Join(errs...)
}

// close ends all workers.
func (w *workers) close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closed = true
	var errs []error
	for _, at := range w.places {
		if p := at.running(); p != nil {
			errs = append(errs, p.Kill())
		}
	}
	for _, p := range w.leaving {
		errs = append(errs, p.Kill())
	}
	for _, log := range w.logs {
		errs = append(errs, log.Close())
	}
	return errors.Join(errs...)
}

func workerName(worker int) string { return "worker-" + strconv.Itoa(worker+1) }

// log returns the writer of a worker's log.
func (w *workers) log(as Fault) (io.Writer, error) {
	file, err := appendTo(w.logFile(as))
	if err == nil {
		w.logs = append(w.logs, file)
	}
	return file, err
}

// logFile returns the name of a worker's own log file, or a device without space.
func (w *workers) logFile(as Fault) string {
	if as.FullDisk {
		return fullDevice
	}
	return filepath.Join(w.dir, workerName(as.Worker)+".log")
}

// fullDevice refuses every byte, as a full disk does.
const fullDevice = "/dev/full"

// lastLines returns the last few lines of a log.
func lastLines(file string) string {
	const most = 8
	text, err := os.ReadFile(file)
	if err != nil {
		return err.Error()
	}
	lines := bytes.Split(bytes.TrimSpace(text), []byte("\n"))
	return string(bytes.Join(lines[max(0, len(lines)-most):], []byte("\n")))
}
