// Command healthcheck asks one URL and says by its exit code whether the answer was 200. It stands in container images that hold
// no shell and no curl.
package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"time"
)

const timeout = 3 * time.Second

func main() {
	if err := run(context.Background(), os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "healthcheck: error:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("%d arguments given; give one URL", len(args))
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, args[0], nil)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answered %s", args[0], response.Status)
	}
	return nil
}
