package activities

import (
	"context"
	"net/http/httptrace"
	"time"
)

// gate stands between a connection and the first byte of a request. net/http calls it when the connection stands (TLS
// and a proxy's tunnel included) and before it writes; closing the connection there is proof that nothing left. It lets
// one attempt through, and none at or after its time (R2, R24).
type gate struct {
	clock    serverClock
	notAfter time.Time
	openedAt time.Time // zero: nothing left
}

// watch has every connection that a request is given pass the gate.
func (g *gate) watch(ctx context.Context) context.Context {
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: g.pass})
}

// pass runs in the goroutine that sends.
func (g *gate) pass(info httptrace.GotConnInfo) {
	now := g.clock.now()
	second := !g.openedAt.IsZero()
	if second || g.over(now) {
		_ = info.Conn.Close()
		return
	}
	g.openedAt = now
}

func (g *gate) over(now time.Time) bool {
	return reached(now, g.notAfter) || reached(now, g.clock.ends)
}

// reached reports whether an end has come, if there is one.
func reached(now, end time.Time) bool { return !end.IsZero() && !now.Before(end) }

// late reports whether nothing left and nothing may leave any more.
func (g *gate) late() bool { return g.openedAt.IsZero() && g.over(g.clock.now()) }
