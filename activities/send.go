package activities

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/hashicorp/go-retryablehttp"

	"github.com/jobwait/jobwait/internal/netfail"
	"github.com/jobwait/jobwait/statetables"
	"github.com/jobwait/jobwait/wire"
)

// maxHeaderBytes bounds the header of an answer (R7); statetables.MaxBodyBytes bounds its body.
const maxHeaderBytes = 64 << 10

// sender sends one request over one connection of its own.
type sender struct {
	proxy     func(*http.Request) (*url.URL, error)
	dial      func(ctx context.Context, network, address string) (net.Conn, error)
	rootCAs   *x509.CertPool
	userAgent string
}

// order is one request with the bounds it is sent under.
type order struct {
	request  statetables.Request
	notAfter time.Time // zero: none
	timeout  time.Duration
	clock    serverClock
}

// exchange is what became of an order. Exactly one of the first four says how it ended.
type exchange struct {
	tooLate   bool   // nothing left: the time was over
	rejected  bool   // nothing left: the address is not one to dial
	transport string // no whole answer, a wire.Transport* word
	response  *response

	sentAt time.Time // zero: nothing left
}

// response is an answer as far as it could be read.
type response struct {
	statetables.Response
	// cut is why the body did not arrive whole, a wire.Transport* word.
	cut string
	// encoded says that the body is in a content coding that is not understood.
	encoded bool
}

// whole reports whether the body is the one that was sent, so that one that is empty says something.
func (r *response) whole() bool { return r.cut == "" && !r.encoded }

// send sends the request once at most: one attempt, over one connection that nothing used before and nothing will use
// again, so that net/http has no broken connection to repeat a GET for (R2).
func (s *sender) send(ctx context.Context, order order) exchange {
	gate := &gate{clock: order.clock, notAfter: order.notAfter}
	if gate.late() {
		return exchange{tooLate: true}
	}
	ctx, cancel := context.WithTimeout(ctx, order.clock.left(order.timeout))
	defer cancel()
	got, err := s.attempt(gate.watch(ctx), order)
	return conclude(gate, got, err)
}

func (s *sender) attempt(ctx context.Context, order order) (*response, error) {
	request, err := s.request(ctx, order.request)
	if err != nil {
		return nil, err
	}
	client, err := s.client(request, order.request.AllowPrivateNetwork)
	if err != nil {
		return nil, err
	}
	defer client.HTTPClient.CloseIdleConnections()
	answer, err := client.Do(request)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	return read(ctx, answer, order.clock), nil
}

// conclude says how an attempt ended. Whatever failed before the gate opened sent nothing.
func conclude(gate *gate, got *response, err error) exchange {
	failure := &transportError{wire.TransportOther}
	errors.As(err, &failure)
	switch {
	case err == nil:
		return exchange{response: got, sentAt: gate.openedAt}
	case gate.late():
		return exchange{tooLate: true}
	case errors.As(err, new(*addressError)):
		return exchange{rejected: true}
	case errors.Is(err, errHeaderTooLarge):
		tooLarge := statetables.Response{BodyTooLarge: true, ReceivedAt: gate.clock.now()}
		return exchange{response: &response{Response: tooLarge}, sentAt: gate.openedAt}
	default:
		return exchange{transport: failure.detail, sentAt: gate.openedAt}
	}
}

// refusal is why an order was not carried out; nil if it was.
func (e exchange) refusal() *refusal {
	switch {
	case e.tooLate:
		return &refusal{why: wire.NotSentTooLate}
	case e.rejected:
		return refuse(wire.NotSentURLRejected, "%s", &addressError{})
	default:
		return nil
	}
}

// request is the table's request as net/http wants it, with the two headers that are ours and no others.
func (s *sender) request(ctx context.Context, from statetables.Request) (*retryablehttp.Request, error) {
	var body any
	if len(from.Body) > 0 {
		body = from.Body
	}
	request, err := retryablehttp.NewRequestWithContext(ctx, from.Method, from.URL, body)
	if err != nil {
		return nil, err
	}
	request.Header.Set("User-Agent", s.userAgent)
	request.Header.Set("Accept", "application/json")
	for name, value := range from.Header {
		request.Header.Set(name, value)
	}
	return request, nil
}

// client makes one attempt and gives every answer through as it came: RetryMax 0, no redirect, no cookies, and the
// handler without which go-retryablehttp swallows a 503 and its Retry-After.
func (s *sender) client(request *retryablehttp.Request, private bool) (*retryablehttp.Client, error) {
	proxy, err := s.proxy(request.Request)
	if err != nil {
		return nil, err
	}
	return &retryablehttp.Client{
		HTTPClient: &http.Client{
			Transport:     lastAnswer{s.transport(proxy, private)},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
		RetryMax:     0,
		CheckRetry:   never,
		ErrorHandler: retryablehttp.PassthroughErrorHandler,
	}, nil
}

// transport speaks HTTP/1.1 only, because HTTP/2 repeats streams that the server refused, and asks for no compression.
func (s *sender) transport(proxy *url.URL, private bool) *http.Transport {
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	return &http.Transport{
		Proxy:                  http.ProxyURL(proxy),
		DialContext:            s.dialer(proxy != nil || private),
		TLSClientConfig:        &tls.Config{RootCAs: s.rootCAs, MinVersion: tls.VersionTLS12},
		Protocols:              protocols,
		DisableKeepAlives:      true,
		DisableCompression:     true,
		MaxResponseHeaderBytes: maxHeaderBytes,
	}
}

// dialer guards what is dialled (R52). An egress proxy is the operator's choice, not the provider's, and is not guarded.
func (s *sender) dialer(anywhere bool) func(context.Context, string, string) (net.Conn, error) {
	switch {
	case s.dial != nil:
		return s.dial
	case anywhere:
		return (&net.Dialer{}).DialContext
	default:
		return (&net.Dialer{Control: publicOnly}).DialContext
	}
}

// lastAnswer keeps net/http's client from turning a redirect whose Location cannot be parsed into an error: it is an
// answer like any other, and nobody follows it.
type lastAnswer struct{ http.RoundTripper }

func (t lastAnswer) RoundTrip(request *http.Request) (*http.Response, error) {
	answer, err := t.RoundTripper.RoundTrip(request)
	if err == nil {
		if _, bad := request.URL.Parse(answer.Header.Get("Location")); bad != nil {
			answer.Header.Del("Location")
		}
	}
	return answer, err
}

// read takes an answer in. Its status is known whatever becomes of the body.
func read(ctx context.Context, answer *http.Response, clock serverClock) *response {
	got := &response{Response: statetables.Response{Status: answer.StatusCode, Header: answer.Header}}
	if answer.StatusCode != http.StatusSwitchingProtocols { // what follows a 101 is no body
		got.readBody(ctx, answer)
	}
	got.ReceivedAt = clock.now()
	return got
}

func (r *response) readBody(ctx context.Context, answer *http.Response) {
	raw, err := bounded(answer.Body)
	switch {
	case errors.Is(err, errTooLarge):
		r.BodyTooLarge = true
	case err != nil:
		r.cut = netfail.Word(ctx, err)
	default:
		r.decode(raw)
	}
}

// decode undoes the one content coding that servers use unasked. The limit holds after it, and what goes over it is
// never kept, so that a small answer cannot become a large one.
func (r *response) decode(raw []byte) {
	coding := strings.ToLower(strings.Join(http.Header(r.Header).Values("Content-Encoding"), ","))
	switch {
	case len(raw) == 0 || coding == "" || coding == "identity":
		r.Body = raw
	case coding == "gzip" || coding == "x-gzip":
		r.gunzip(raw)
	default:
		r.encoded = true
	}
}

func (r *response) gunzip(raw []byte) {
	reader, err := gzip.NewReader(bytes.NewReader(raw))
	if err != nil {
		r.encoded = true
		return
	}
	body, err := bounded(reader)
	r.Body, r.BodyTooLarge, r.encoded = body, errors.Is(err, errTooLarge), err != nil && !errors.Is(err, errTooLarge)
}

var errTooLarge = errors.New("more than the limit")

// bounded reads to the end or gives up at the limit with nothing.
func bounded(from io.Reader) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(from, statetables.MaxBodyBytes+1))
	switch {
	case len(data) > statetables.MaxBodyBytes:
		return nil, errTooLarge
	case err != nil:
		return nil, err
	}
	return data, nil
}
