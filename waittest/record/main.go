// Command record plays waits against a real Temporal server and writes their histories, for strict replay:
//
//	go run ./waittest/record                 those that are not there yet, into workflows/testdata/histories
//	go run ./waittest/record -only cancel    those whose name contains "cancel"
//	go run ./waittest/record -dir DIR        elsewhere
//
// A history that is there is kept: it stands for the waits that earlier code has left open.
//
// Histories in good/ must replay to the last millisecond. Those in bad/ are good ones with one change each, beside the
// complaint that strict replay must raise.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"

	historypb "go.temporal.io/api/history/v1"

	"github.com/jobwait/jobwait/waittest"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:], os.Stderr)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "record: error:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, progress io.Writer) error {
	flags := flag.NewFlagSet("record", flag.ContinueOnError)
	dir := flags.String("dir", filepath.Join("workflows", "testdata", "histories"), "where the histories are written")
	only := flags.String("only", "", "record only the waits whose name contains this")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if err := recordGood(ctx, *dir, *only, progress); err != nil {
		return err
	}
	return makeBad(*dir, progress)
}

// recordGood plays every wanted wait that has no history yet, all of one server at the same time.
func recordGood(ctx context.Context, dir, only string, progress io.Writer) error {
	for _, group := range groups() {
		var wanted []wait
		for _, w := range group.waits {
			switch {
			case !strings.Contains(w.name, only):
			case w.recorded(filepath.Join(dir, "good")):
				fmt.Fprintf(progress, "record: %s is there and stays\n", w.name)
			default:
				wanted = append(wanted, w)
			}
		}
		if len(wanted) == 0 {
			continue
		}
		if err := group.record(ctx, wanted, filepath.Join(dir, "good"), progress); err != nil {
			return err
		}
	}
	return nil
}

// recorded reports whether a directory has the wait's history, of one run or of several.
func (w wait) recorded(dir string) bool {
	for _, name := range []string{w.name, w.name + "_run1"} {
		if _, err := os.Stat(filepath.Join(dir, name+".json")); err == nil {
			return true
		}
	}
	return false
}

func write(dir, name string, history *historypb.History) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	file, err := os.Create(filepath.Join(dir, name+".json"))
	if err != nil {
		return err
	}
	if err := waittest.WriteHistory(file, history); err != nil {
		_ = file.Close()
		return err
	}
	return file.Close()
}
