// Package whole tests the product as a whole: a real Temporal server, real workers, a provider over real HTTP. It is the
// one place that finds or builds the server.
package whole_test

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/jobwait/jobwait/internal/bed"
	"github.com/jobwait/jobwait/internal/devserver"
)

// shared is the bed that most tests lie on; each has jobs of its own in it.
var shared *bed.Bed

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	ctx, cancel := context.WithTimeout(context.Background(), 25*time.Minute)
	defer cancel()
	var err error
	shared, err = bed.Open(ctx, bed.Options{
		Progress: os.Stderr,
		Server:   devserver.Options{SearchAttributes: true, FastTimers: true},
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, "whole:", err)
		return 1
	}
	defer func() { _ = shared.Close() }()
	stop, err := shared.Work(bed.WorkerOptions{})
	if err != nil {
		fmt.Fprintln(os.Stderr, "whole:", err)
		return 1
	}
	defer stop()
	return m.Run()
}
