package web_test

import (
	"context"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/jobwait/jobwait/internal/bed"
	"github.com/jobwait/jobwait/internal/devserver"
	"github.com/jobwait/jobwait/statetables"
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
	queried, err := withQuery()
	if err != nil {
		fmt.Fprintln(os.Stderr, "web:", err)
		return 1
	}
	stop, err := shared.Work(bed.WorkerOptions{Tables: []statetables.Source{queried}})
	if err != nil {
		fmt.Fprintln(os.Stderr, "web:", err)
		return 1
	}
	defer stop()
	return m.Run()
}

// withQuery is the demonstration's table for a provider "demo-query", whose status URLs may have a query "sig".
func withQuery() (statetables.Source, error) {
	data, err := fs.ReadFile(statetables.Demo(), "demo-export.yaml")
	text := strings.NewReplacer("provider: demo-export\n", "provider: demo-query\n", "  url: \"{status_url}\"\n", "  url: \"{status_url}\"\n  status_url_query: [sig]\n").Replace(string(data))
	return statetables.Source{Name: "query", FS: fstest.MapFS{"demo-query.yaml": {Data: []byte(text)}}}, err
}
