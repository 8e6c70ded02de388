package web_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/jobwait/jobwait/internal/bed"
	"github.com/jobwait/jobwait/internal/devserver"
)

// shared is the bed on which all tests lie; each has jobs and accounts of its own in it.
var shared *bed.Bed

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(run(m))
}

func run(m *testing.M) int {
	ctx, cancel := context.WithTimeout(context.Background(), 25*time.Minute)
	defer cancel()
	var err error
	shared, err = bed.Open(ctx, bed.Options{Progress: os.Stderr, Server: devserver.Options{
		SearchAttributes: true, FastTimers: true,
		// The tests look at many lists at once; a stock namespace answers ten questions a second.
		DynamicConfig: []string{"frontend.namespaceRPS.visibility=500"},
	}})
	if err != nil {
		fmt.Fprintln(os.Stderr, "web:", err)
		return 1
	}
	defer func() { _ = shared.Close() }()
	stop, err := shared.Work(bed.WorkerOptions{})
	if err != nil {
		fmt.Fprintln(os.Stderr, "web:", err)
		return 1
	}
	defer stop()
	return m.Run()
}
