// Package browsertest_test tests the inbox in a real browser, and against a real OpenID provider, on a real Temporal
// server with a stock worker. It is a module of its own: who imports jobwait needs no browser.
package browsertest_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/jobwait/jobwait/internal/bed"
	"github.com/jobwait/jobwait/internal/devserver"
)

// shared is the bed on which all tests lie, browser the process in which each opens tabs of its own.
var (
	shared  *bed.Bed
	browser context.Context //nolint:containedctx // the life of the browser
)

func TestMain(m *testing.M) {
	flag.Parse()
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, "browsertest:", err)
	}
	os.Exit(code)
}

func run(m *testing.M) (code int, err error) {
	path, err := findBrowser()
	if err != nil {
		return 1, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 25*time.Minute)
	defer cancel()
	shared, err = bed.Open(ctx, bed.Options{Progress: os.Stderr, Server: devserver.Options{
		SearchAttributes: true, FastTimers: true, DynamicConfig: []string{"frontend.namespaceRPS.visibility=500"},
	}})
	if err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, shared.Close()) }()
	stop, err := shared.Work(bed.WorkerOptions{})
	if err != nil {
		return 1, err
	}
	defer stop()
	home, err := os.MkdirTemp("", "inbox-browser-")
	if err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(home)) }()
	allocator, end := chromedp.NewExecAllocator(ctx, chromedp.ExecPath(path), chromedp.UserDataDir(home), chromedp.Headless, chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.NoFirstRun, chromedp.Flag("disable-quic", true), chromedp.Flag("disable-background-networking", true),
		chromedp.Flag("disable-component-update", true), chromedp.Flag("disable-sync", true), chromedp.Flag("disable-dev-shm-usage", true))
	defer end()
	opened, leave := chromedp.NewContext(allocator)
	defer leave()
	browser = opened                             //nolint:fatcontext // once, for all tests
	if err := chromedp.Do(browser); err != nil { // starts it
		return 1, fmt.Errorf("%s: %w", path, err)
	}
	return m.Run(), nil
}

// findBrowser takes $CHROMIUM, else what the systems call it. A machine without one fails: tests that pass over themselves
// say nothing.
func findBrowser() (string, error) {
	if path := os.Getenv("CHROMIUM"); path != "" {
		return path, nil
	}
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable"} {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", errors.New("no Chromium on PATH; install it (Debian: apt-get install chromium) or set CHROMIUM to its path")
}
