package activities

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"net/http/httptrace"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// slowHandshake is a TLS provider whose handshake ends at a given time.
func slowHandshake(t *testing.T, until time.Time) *provider {
	t.Helper()
	p := unstarted(t, func(http.ResponseWriter, *http.Request) {})
	p.TLS = &tls.Config{GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
		<-time.After(time.Until(until))
		return nil, nil
	}}
	p.StartTLS()
	return p
}

// R24: the time is looked at when the connection stands, so a handshake that outlasts the deadline sends nothing.
func TestSlowHandshakeSendsNothingLate(t *testing.T) {
	t.Parallel()
	begin := time.Now()
	p := slowHandshake(t, begin.Add(300*time.Millisecond))
	order := get(p.URL)
	order.notAfter = begin.Add(200 * time.Millisecond)
	require.Equal(t, exchange{tooLate: true}, trusting(p).send(t.Context(), order))
	require.Equal(t, 1, p.connected())
	require.Empty(t, p.saw())

	order = get(p.URL)
	order.notAfter = time.Now().Add(time.Minute)
	answered(t, trusting(p), order) // the control: in time it is sent
	require.Len(t, p.saw(), 1)
}

// R24: the same through the tunnel of a proxy, where the connection stands even later.
func TestSlowHandshakeThroughProxySendsNothingLate(t *testing.T) {
	t.Parallel()
	begin := time.Now()
	p := slowHandshake(t, begin.Add(300*time.Millisecond))
	proxy := tunnel(t, p.Listener.Addr().String())
	order := get("https://example.com/")
	order.notAfter = begin.Add(200 * time.Millisecond)
	require.Equal(t, exchange{tooLate: true}, through(proxy, trusting(p)).send(t.Context(), order))
	require.Empty(t, p.saw())
}

// R24: the same without TLS, when the connection itself is slow.
func TestSlowConnectionSendsNothingLate(t *testing.T) {
	t.Parallel()
	p := serve(t, func(http.ResponseWriter, *http.Request) {})
	order := get(p.URL)
	order.notAfter = time.Now().Add(time.Second) // a busy machine gets to dialling by then
	sender := direct()
	sender.dial = func(ctx context.Context, network, address string) (net.Conn, error) {
		<-time.After(time.Until(order.notAfter))
		return new(net.Dialer).DialContext(ctx, network, address)
	}
	require.Equal(t, exchange{tooLate: true}, sender.send(t.Context(), order))
	require.Eventually(t, func() bool { return p.connected() == 1 }, 10*time.Second, time.Millisecond) // the server counts in its own time
	require.Empty(t, p.saw())
}

// T4, R24: what waited too long is not even connected for.
func TestLateFromTheStart(t *testing.T) {
	t.Parallel()
	p := serve(t, func(http.ResponseWriter, *http.Request) {})
	order := get(p.URL)
	order.notAfter = order.clock.startedAt.Add(-10 * time.Minute)
	require.Equal(t, exchange{tooLate: true}, direct().send(t.Context(), order))
	require.Zero(t, p.connected())
}

// R24: at the deadline is late, and a failure to connect past it is late too: nothing left and nothing may.
func TestNothingLeavesAtTheDeadline(t *testing.T) {
	t.Parallel()
	now := time.Now()
	require.True(t, (&gate{notAfter: now}).over(now))
	require.False(t, (&gate{notAfter: now}).over(now.Add(-1)))
	require.False(t, (&gate{}).over(now))

	p := serve(t, nil)
	order := get(p.URL)
	order.notAfter = now.Add(50 * time.Millisecond)
	sender := direct()
	sender.dial = func(context.Context, string, string) (net.Conn, error) {
		<-time.After(time.Until(order.notAfter))
		return nil, context.DeadlineExceeded
	}
	require.Equal(t, exchange{tooLate: true}, sender.send(t.Context(), order))
}

// R24: deadlines are the server's. A machine whose clock is an hour off sends, and holds back, all the same.
func TestDeadlineIsOnTheServersTime(t *testing.T) {
	t.Parallel()
	p := serve(t, func(http.ResponseWriter, *http.Request) {})
	for _, skew := range []time.Duration{-time.Hour, time.Hour} {
		order := get(p.URL)
		order.clock.startedAt = time.Now().Add(skew)
		order.notAfter = order.clock.startedAt.Add(time.Minute)
		got := direct().send(t.Context(), order)
		require.NotNil(t, got.response)
		require.WithinRange(t, got.sentAt, order.clock.startedAt, order.notAfter)
		require.WithinRange(t, got.response.ReceivedAt, got.sentAt, order.notAfter)

		order.notAfter = order.clock.startedAt
		require.True(t, direct().send(t.Context(), order).tooLate)
	}
	require.Len(t, p.saw(), 2)
}

// R24: a worker that was frozen with the task in its hands does not take the time for the one at which it was handed out, and
// its request ends when the server gives the activity up.
func TestTimeInAFrozenWorkerCounts(t *testing.T) {
	t.Parallel()
	const timeout = 7 * time.Second
	handedOut := time.Now().Add(-time.Hour)
	for name, c := range map[string]struct{ lag, want time.Duration }{
		"at once":                    {0, 0},
		"frozen":                     {4 * time.Second, 4 * time.Second},
		"a clock behind":             {-time.Minute, 0},
		"a clock far ahead":          {time.Minute, 0},
		"ahead by just the time-out": {timeout, 0},
	} {
		clock := clockAt(handedOut, handedOut.Add(c.lag), timeout)
		require.Equal(t, c.want, clock.startedAt.Sub(handedOut), name)
		require.Equal(t, timeout, clock.ends.Sub(handedOut), name)
	}
	frozen := clockAt(handedOut, time.Now(), 0)
	require.Equal(t, timeout, frozen.left(timeout), "without a time-out nothing ends it")
	frozen = serverClock{startedAt: handedOut, began: time.Now(), ends: handedOut.Add(2 * time.Second)}
	require.InDelta(t, 2, frozen.left(timeout).Seconds(), 1)
}

// R2, R21: a process that is stopped between its last look at the clock and the connection finds the activity given up when it
// goes on. The connection is closed, and nothing is written.
func TestNothingLeavesAfterTheActivityWasGivenUp(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		ends   time.Duration
		closed bool
	}{"in time": {time.Minute, false}, "given up": {-time.Millisecond, true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			now := time.Now()
			gate := &gate{clock: serverClock{startedAt: now, began: now, ends: now.Add(test.ends)}, notAfter: now.Add(time.Hour)}
			conn := &closable{}

			gate.pass(httptrace.GotConnInfo{Conn: conn})

			require.Equal(t, test.closed, conn.closed)
			require.Equal(t, test.closed, gate.openedAt.IsZero())
			require.Equal(t, test.closed, gate.late())
		})
	}
}
