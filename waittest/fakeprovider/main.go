// Command fakeprovider runs waittest's scripted provider as a program, for demos and for tests in several processes.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/jobwait/jobwait/waittest"
)

const usage = `fakeprovider answers status requests of export jobs by script, and remembers what it was asked.

  fakeprovider --script jobs.json --addr 127.0.0.1:8090

A script, with every field in the documentation of waittest.Step:

  {"jobs": {"exp_71c": {"steps": [
     {"state": "queued"},
     {"status": 503, "headers": {"Retry-After": ["2"]}, "raw": ""},
     {"state": "succeeded", "result_url": "https://files.example.com/exp_71c.csv"}]}}}

While it runs: GET /_health, GET /_log, GET /_submissions, PUT /_jobs/<id>, POST /_jobs/<id>/release. These need no key: keep it on loopback.

Flags:
`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	switch {
	case err == nil || errors.Is(err, flag.ErrHelp):
	case errors.As(err, new(usageError)):
		os.Exit(2)
	default:
		fmt.Fprintln(os.Stderr, "fakeprovider: error:", err)
		os.Exit(1)
	}
}

// usageError has been shown already, by the flag package.
type usageError struct{ error }

type config struct {
	address, keyEnv, script, log string
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	c, err := parse(args, stdout, stderr)
	if err != nil {
		return err
	}
	opts := waittest.ProviderOptions{Address: c.address}
	if opts.Key, err = c.key(os.LookupEnv); err != nil {
		return err
	}
	if opts.Script, err = c.readScript(); err != nil {
		return err
	}
	if c.log == "" {
		return serve(ctx, opts, stdout)
	}
	file, err := os.OpenFile(c.log, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	opts.Log = file
	return errors.Join(serve(ctx, opts, stdout), file.Close())
}

func parse(args []string, stdout, stderr io.Writer) (config, error) {
	var c config
	flags := flag.NewFlagSet("fakeprovider", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&c.address, "addr", "127.0.0.1:0", "`host:port` to listen on; port 0 takes a free one")
	flags.StringVar(&c.keyEnv, "key-env", "", "`name` of the environment variable that holds the key to ask for; empty asks for none")
	flags.StringVar(&c.script, "script", "", "`file` with the jobs; empty begins without any")
	flags.StringVar(&c.log, "log", "", "`file` to append every finished request to, as JSON lines")
	flags.Usage = func() {
		_, _ = io.WriteString(flags.Output(), usage)
		flags.PrintDefaults()
	}
	if len(args) > 0 && (args[0] == "--help" || args[0] == "-h") {
		flags.SetOutput(stdout) // asked for: it is the result
	}
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return config{}, err
		}
		return config{}, usageError{err}
	}
	if flags.NArg() > 0 {
		err := fmt.Errorf("unexpected argument %q: this command takes only flags", flags.Arg(0))
		_, _ = fmt.Fprintln(stderr, "fakeprovider: error:", err)
		return config{}, usageError{err}
	}
	return c, nil
}

// key never falls back to asking for none: a provider that should check a key and does not would hide a leak.
func (c config) key(lookup func(string) (string, bool)) (string, error) {
	if c.keyEnv == "" {
		return "", nil
	}
	key, _ := lookup(c.keyEnv)
	if key == "" {
		return "", fmt.Errorf("--key-env: environment variable %q is unset or empty; set it, or leave the flag out to ask for no key", c.keyEnv)
	}
	return key, nil
}

func (c config) readScript() (waittest.ProviderScript, error) {
	if c.script == "" {
		return waittest.ProviderScript{}, nil
	}
	file, err := os.Open(c.script)
	if err != nil {
		return waittest.ProviderScript{}, err
	}
	defer file.Close()
	script, err := waittest.ReadProviderScript(file)
	if err != nil {
		return waittest.ProviderScript{}, fmt.Errorf("%s: %w", c.script, err)
	}
	return script, nil
}

func serve(ctx context.Context, opts waittest.ProviderOptions, stdout io.Writer) error {
	provider, err := waittest.NewProvider(opts)
	if err != nil {
		return err
	}
	_, _ = fmt.Fprintf(stdout, "listening on %s\n", provider.URL())
	<-ctx.Done()
	return provider.Close()
}
