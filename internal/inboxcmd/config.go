package inboxcmd

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"

	"github.com/spf13/pflag"

	"github.com/jobwait/jobwait/internal/connect"
	"github.com/jobwait/jobwait/internal/inboxcmd/access"
	"github.com/jobwait/jobwait/internal/inboxcmd/web"
)

const usage = `inbox is a web page on which people see which waits ask for a decision, and answer them.

  inbox --local                         for yourself, on this machine alone

` + connect.Settings + `

SIGTERM and SIGINT stop it, after answers that are being sent have been seen to their end. Who answered what, and what was
refused to whom, is logged to stderr.

Exit codes: 0 stopped by a signal, 1 error, 2 wrong usage.

Flags:
`

const defaultAddr = "127.0.0.1:8092"

// config is what the command line says.
type config struct {
	local     bool
	as        string
	addr      string
	logLevel  slog.Level
	logFormat string
}

// usageError is a wrong command line.
type usageError struct{ error }

func usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

func parse(args []string, stdout io.Writer) (config, error) {
	c := config{}
	flags := pflag.NewFlagSet("inbox", pflag.ContinueOnError)
	flags.SortFlags = false
	flags.Usage = func() { _, _ = io.WriteString(stdout, usage+flags.FlagUsagesWrapped(100)) }
	c.define(flags)
	err := flags.Parse(args)
	switch {
	case errors.Is(err, pflag.ErrHelp):
		return config{}, err
	case err != nil:
		return config{}, usageError{err}
	case flags.NArg() > 0:
		return config{}, usagef("argument %q: there are only flags", flags.Arg(0))
	}
	return c, c.validate()
}

func (c *config) define(flags *pflag.FlagSet) {
	flags.BoolVar(&c.local, "local", false, "for one person on this machine: whoever reaches its loopback is that person")
	flags.StringVar(&c.as, "as", os.Getenv("USER"), "`name` of that person, which stands in their decisions")
	flags.StringVar(&c.addr, "addr", defaultAddr, "`host:port` to listen on")
	flags.TextVar(&c.logLevel, "log-level", &c.logLevel, "`level` from which on lines are logged: debug, info, warn, error")
	flags.StringVar(&c.logFormat, "log-format", "text", "`format` of log lines: text, json")
}

func (c *config) validate() error {
	host, _, err := net.SplitHostPort(c.addr)
	switch {
	case err != nil:
		return usagef("--addr %q is not host:port, such as %s", c.addr, defaultAddr)
	case c.logFormat != "text" && c.logFormat != "json":
		return usagef("--log-format %q is not one of text and json", c.logFormat)
	case !c.local:
		return usagef("--local is missing: nobody could be known")
	case !loopback(host):
		return usagef("--addr %s is not on loopback: in local mode everybody who can reach it would be %q; listen on 127.0.0.1", c.addr, c.as)
	case c.as == "":
		return usagef("--as is missing and $USER is empty; say who decides")
	}
	return nil
}

func loopback(host string) bool {
	address := net.ParseIP(host)
	return address != nil && address.IsLoopback()
}

func (c *config) logger(stderr io.Writer) *slog.Logger {
	options := &slog.HandlerOptions{Level: c.logLevel}
	if c.logFormat == "json" {
		return slog.New(slog.NewJSONHandler(stderr, options))
	}
	return slog.New(slog.NewTextHandler(stderr, options))
}

func (c *config) options(logger *slog.Logger) (web.Options, error) {
	gate, err := access.NewLocal(c.as)
	return web.Options{Logger: logger, Gate: gate, Policy: access.Everything(c.as)}, err
}

// greeting says where the inbox is and for whom.
func (c *config) greeting(at net.Addr, server, namespace string) []string {
	return []string{
		fmt.Sprintf("inbox at http://%s, for Temporal at %s, namespace %s", at, server, namespace),
		fmt.Sprintf("local mode: whoever reaches the loopback of this machine decides as %q", c.as),
	}
}
