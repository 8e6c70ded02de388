package bench

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"runtime/pprof"
	"strings"
	"syscall"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"

	"github.com/jobwait/jobwait/internal/workercmd"
)

// roleVariable is the environment variable that makes a child of the command one of the two workers.
const roleVariable = "JOBWAIT_BENCH_ROLE"

const (
	roleJobwait = "jobwait"
	roleBare    = "bare"
)

// PlayRole runs a worker if this process was started as one, and then ends the process. A program that calls Run must call PlayRole
// first.
func PlayRole() {
	role := os.Getenv(roleVariable)
	if role == "" {
		return
	}
	go control(os.Stdin, os.Stdout)
	if role == roleJobwait {
		workercmd.Main()
	}
	if err := workBare(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "bench: error:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// workBare runs the bare loop's worker: with the stock worker's settings and connection, and nothing else of it.
func workBare(args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("bench: %d arguments; the one is the task queue", len(args))
	}
	stopped := make(chan os.Signal, 1)
	signal.Notify(stopped, os.Interrupt, syscall.SIGTERM)
	options, err := workercmd.Connection(slog.New(slog.NewTextHandler(os.Stderr, nil)), false)
	if err != nil {
		return err
	}
	c, err := client.Dial(options)
	if err != nil {
		return err
	}
	defer c.Close()
	w := worker.New(c, args[0], workercmd.Settings())
	registerBareLoop(w)
	getter := newBareGetter(providerKey)
	w.RegisterActivityWithOptions(getter.get, getter.options())
	if err := w.Start(); err != nil {
		return err
	}
	<-stopped
	w.Stop()
	return nil
}

// control answers the commands of the run that started this worker, one per line.
func control(commands io.Reader, answers io.Writer) {
	lines := bufio.NewScanner(commands)
	encoder := json.NewEncoder(answers)
	profiled := func() error { return nil }
	for lines.Scan() {
		var err error
		switch command, rest, _ := strings.Cut(lines.Text(), " "); command {
		case "settle":
			err = encoder.Encode(settled())
		case "profile":
			var failed error
			profiled, failed = profile(rest)
			err = encoder.Encode(word(failed))
		case "profiled":
			err = encoder.Encode(word(profiled()))
		}
		if err != nil {
			return
		}
	}
}

// collections is how often the garbage collector runs until there is nothing more to free: each run halves a stack that has become
// too large.
const collections = 4

// settled returns unused memory to the system and returns what is left.
func settled() memory {
	for range collections {
		debug.FreeOSMemory()
	}
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return memory{Heap: stats.HeapAlloc, Stacks: stats.StackInuse}
}

// profile starts a CPU profile; the returned function ends it.
func profile(path string) (profiled func() error, err error) {
	profiled = func() error { return nil }
	file, err := os.Create(path)
	if err != nil {
		return profiled, err
	}
	if err := pprof.StartCPUProfile(file); err != nil {
		return profiled, errors.Join(err, file.Close())
	}
	return func() error {
		pprof.StopCPUProfile()
		return file.Close()
	}, nil
}

// word returns an error as it is written to the line; empty if nil.
func word(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
