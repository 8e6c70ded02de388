package inboxcmd

import (
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/url"
	"os"

	"github.com/spf13/pflag"

	"github.com/jobwait/jobwait/internal/connect"
	"github.com/jobwait/jobwait/internal/daemon"
	"github.com/jobwait/jobwait/internal/inboxcmd/access"
	"github.com/jobwait/jobwait/internal/inboxcmd/web"
	"github.com/jobwait/jobwait/signing"
	"github.com/jobwait/jobwait/wire"
)

const usage = `inbox is a web page on which people see which waits ask for a decision, and answer them.

  inbox --local                         for yourself, on this machine alone
  inbox --access access.yaml --public-url https://inbox.example.com --addr 127.0.0.1:8092
                                        for a team: people sign in, and rules say who may answer what

` + connect.Settings + `

Behind a reverse proxy, name its addresses in the access file (trusted_proxies of oidc, addresses of proxy): nobody else's word is
taken for whom a request comes from.

SIGTERM and SIGINT stop it, after answers that are being sent have been seen to their end. Who signed in, who answered what,
and what was refused to whom is logged to stderr.

Exit codes: 0 stopped by a signal, 1 error, 2 wrong usage.

Flags:
`

const defaultAddr = "127.0.0.1:8092"

// config is what the command line says.
type config struct {
	local           bool
	as              string
	access          string
	publicURL       string
	addr            string
	tlsCert, tlsKey string
	signWith        string
	metricsAddr     string
	log             daemon.Log
}

func parse(args []string, stdout io.Writer) (config, error) {
	c := config{}
	if err := daemon.Parse("inbox", usage, args, stdout, c.define); err != nil {
		return config{}, err
	}
	if err := c.log.Validate(); err != nil {
		return config{}, err
	}
	return c, c.validate()
}

func (c *config) define(flags *pflag.FlagSet) {
	flags.BoolVar(&c.local, "local", false, "for one person on this machine: whoever reaches its loopback is that person")
	flags.StringVar(&c.as, "as", os.Getenv("USER"), "with --local: `name` of that person, which stands in their decisions")
	flags.StringVar(&c.access, "access", "", "`file` that says how people sign in and who may see and answer what")
	flags.StringVar(&c.publicURL, "public-url", "", "with --access: `address` under which people reach the inbox, such as https://inbox.example.com")
	flags.StringVar(&c.addr, "addr", defaultAddr, "`host:port` to listen on")
	flags.StringVar(&c.tlsCert, "tls-cert", "", "`file` with the certificate, where the inbox itself speaks https")
	flags.StringVar(&c.tlsKey, "tls-key", "", "`file` with its key")
	flags.StringVar(&c.signWith, "sign-with", "", "`file` with the private key that signs answers, where workers want signed ones")
	flags.StringVar(&c.metricsAddr, "metrics-addr", "", "`host:port` of GET /metrics for Prometheus, for the operator alone (default off)")
	c.log.Define(flags)
}

func (c *config) validate() error {
	host, _, err := net.SplitHostPort(c.addr)
	switch {
	case err != nil:
		return daemon.Usagef("--addr %q is not host:port, such as %s", c.addr, defaultAddr)
	case (c.tlsCert == "") != (c.tlsKey == ""):
		return daemon.Usagef("--tls-cert and --tls-key belong together; one is missing")
	case c.local && (c.access != "" || c.publicURL != ""):
		return daemon.Usagef("--local goes without --access and --public-url: nobody signs in")
	case c.local:
		return c.validateLocal(host)
	case c.access == "":
		return daemon.Usagef("give --local for yourself on this machine, or --access with a file that says how people sign in")
	case c.publicURL == "":
		return daemon.Usagef("--public-url is missing: the address under which people reach the inbox, such as https://inbox.example.com")
	default:
		return nil
	}
}

func (c *config) validateLocal(host string) error {
	address := net.ParseIP(host)
	switch {
	case address == nil || !address.IsLoopback():
		return daemon.Usagef("--addr %s is not on loopback: in local mode everybody who can reach it would be %q; listen on 127.0.0.1", c.addr, c.as)
	case c.as == "":
		return daemon.Usagef("--as is missing and $USER is empty; say who decides")
	default:
		return nil
	}
}

// options reads the files, so that a fault in one is told before anything connects.
func (c *config) options(logger *slog.Logger) (web.Options, error) {
	options, err := c.people(logger)
	if err == nil && c.signWith != "" {
		options.Sign, err = c.signer()
	}
	return options, err
}

// signer signs for whoever signs in. A key that is somebody's own would sign for nobody else.
func (c *config) signer() (func(wire.Decision) (wire.Decision, error), error) {
	key, err := signing.ReadFile(c.signWith)
	if err != nil {
		return nil, err
	}
	if by := key.DecidedBy(); by != wire.AnyIdentity && (!c.local || by != c.as) {
		return nil, fmt.Errorf("--sign-with %s: the key signs for %q alone; the inbox signs for whoever signs in and needs one for %q", c.signWith, by, wire.AnyIdentity)
	}
	return key.Sign, nil
}

func (c *config) people(logger *slog.Logger) (web.Options, error) {
	if c.local {
		gate, err := access.NewLocal(c.as)
		return web.Options{Logger: logger, Gate: gate, Policy: access.Everything(c.as)}, err
	}
	origin, err := access.Origin(c.publicURL)
	if err != nil {
		return web.Options{}, daemon.Usagef("--public-url %w", err)
	}
	file, err := access.ReadFile(c.access)
	if err != nil {
		return web.Options{}, err
	}
	gate, err := file.Gate(c.access, origin, logger)
	return web.Options{Logger: logger, Gate: gate, Policy: file.Policy(), Origin: origin, Proxies: file.Proxies()}, err
}

// greeting says where the inbox is and for whom.
func (c *config) greeting(at net.Addr, origin *url.URL, server, namespace string) []string {
	if c.local {
		return []string{
			fmt.Sprintf("inbox at %s://%s, for Temporal at %s, namespace %s", c.scheme(), at, server, namespace),
			fmt.Sprintf("local mode: whoever reaches the loopback of this machine decides as %q", c.as),
		}
	}
	return []string{fmt.Sprintf("inbox for %s at %s, for Temporal at %s, namespace %s", origin, at, server, namespace)}
}

func (c *config) scheme() string {
	if c.tlsCert != "" {
		return "https"
	}
	return "http"
}
