package inboxcmd

import (
	"context"
	"log/slog"
	"net"
	"net/http"

	"github.com/jobwait/jobwait/internal/inboxcmd/access"
	"github.com/jobwait/jobwait/internal/inboxcmd/web"
	"github.com/jobwait/jobwait/internal/waits"
)

// Local is an inbox for one person on this machine, inside another program.
type Local struct {
	// URL is where it is: a free port of loopback.
	URL    string
	server *http.Server
}

// OpenLocal serves an inbox in the name of a person. The context bounds the opening; Close ends it.
func OpenLocal(ctx context.Context, c waits.Client, person string, logger *slog.Logger) (*Local, error) {
	gate, err := access.NewLocal(person)
	if err != nil {
		return nil, err
	}
	pages, err := web.New(web.Options{Waits: c, Gate: gate, Policy: access.Everything(person), Logger: logger})
	if err != nil {
		return nil, err
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	l := &Local{URL: "http://" + listener.Addr().String(), server: newServer(pages)}
	go func() { _ = l.server.Serve(listener) }() // it ends with Close
	return l, nil
}

// Close ends it, live updates included.
func (l *Local) Close() error {
	if l == nil {
		return nil
	}
	return l.server.Close()
}
