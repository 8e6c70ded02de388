package bench

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"runtime/pprof"
	"strconv"
	"strings"
	"syscall"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"

	"github.com/jobwait/jobwait/internal/connect"
	"github.com/jobwait/jobwait/internal/workercmd"
)

// roleVariable names what a child of the command is: one of the two workers.
const roleVariable = "JOBWAIT_BENCH_ROLE"

const (
	roleJobwait = "jobwait"
	roleBare    = "bare"
)

// PlayRole runs a worker where this process was started as one, and then ends the process. A program that calls Run calls
// it first.
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

// workBare is the bare loop's worker: the stock worker's settings and connection, and nothing else of it.
func workBare(args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("bench: %d arguments; the one is the task queue", len(args))
	}
	stopped := make(chan os.Signal, 1)
	signal.Notify(stopped, os.Interrupt, syscall.SIGTERM)
	options, err := connect.Options(slog.New(slog.NewTextHandler(os.Stderr, nil)), false)
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

// control answers the run that started this worker, line by line.
func control(commands io.Reader, answers io.Writer) {
	lines := bufio.NewScanner(commands)
	encoder := json.NewEncoder(answers)
	for lines.Scan() {
		var err error
		switch command, rest, _ := strings.Cut(lines.Text(), " "); command {
		case "settle":
			err = encoder.Encode(settled())
		case "profile":
			err = encoder.Encode(profile(rest))
		}
		if err != nil {
			return
		}
	}
}

// collections is how often memory is collected until nothing more comes of it: each makes a stack that has become too large
// half as large.
const collections = 4

// settled gives back to the system what nobody uses, and tells what is left.
func settled() memory {
	for range collections {
		debug.FreeOSMemory()
	}
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return memory{Heap: stats.HeapAlloc, Stacks: stats.StackInuse}
}

// profile writes a CPU profile: "SECONDS FILE". It answers at once; empty is good.
func profile(order string) string {
	text, path, _ := strings.Cut(order, " ")
	seconds, err := strconv.Atoi(text)
	if err != nil {
		return err.Error()
	}
	file, err := os.Create(path)
	if err != nil {
		return err.Error()
	}
	if err := pprof.StartCPUProfile(file); err != nil {
		return err.Error()
	}
	time.AfterFunc(time.Duration(seconds)*time.Second, func() {
		pprof.StopCPUProfile()
		_ = file.Close()
	})
	return ""
}
