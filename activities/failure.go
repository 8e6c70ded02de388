package activities

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"

	"github.com/jobwait/jobwait/wire"
)

// transportError is a failed attempt in one word. It stands in for net/http's error, whose text holds the URL and
// whatever the provider wrote.
type transportError struct{ detail string }

func (e *transportError) Error() string { return "no answer: " + e.detail }

// errHeaderTooLarge is an answer whose header passed the limit: it was an answer, but nobody can say which.
var errHeaderTooLarge = errors.New("the header of the answer is too large")

// never is the retry policy: nothing is repeated, and what went wrong is told without the words of net/http (R2).
func never(ctx context.Context, _ *http.Response, err error) (bool, error) {
	cause := withoutURL(err)
	switch {
	case err == nil:
		return false, nil
	case errors.As(cause, new(*addressError)):
		return false, &addressError{}
	case strings.Contains(cause.Error(), "server response headers exceeded"): // net/http has no value for it
		return false, errHeaderTooLarge
	default:
		return false, &transportError{transportDetail(ctx, cause)}
	}
}

// transportDetail is the kind of a failure. Of a time-out nobody knows whether the request was delivered.
func transportDetail(ctx context.Context, err error) string {
	switch {
	case errors.Is(ctx.Err(), context.Canceled): // the worker stops
		return wire.TransportLost
	case errors.As(err, new(*net.DNSError)):
		return wire.TransportDNS
	case ctx.Err() != nil, isTimeout(err):
		return wire.TransportTimeout
	case errors.Is(err, syscall.ECONNREFUSED):
		return wire.TransportRefused
	case isTLS(err):
		return wire.TransportTLS
	case isReset(err):
		return wire.TransportReset
	default:
		return wire.TransportOther
	}
}

func isTimeout(err error) bool {
	timeout, ok := errors.AsType[net.Error](err)
	return ok && timeout.Timeout()
}

// isTLS goes by the text where crypto/tls has no exported type: alerts and most complaints about a handshake.
func isTLS(err error) bool {
	return errors.As(err, new(*tls.CertificateVerificationError)) || errors.As(err, new(x509.UnknownAuthorityError)) ||
		errors.Is(err, http.ErrSchemeMismatch) || strings.Contains(err.Error(), "tls: ")
}

// isReset covers every end of a connection before the end of the answer, orderly or not.
func isReset(err error) bool {
	for _, end := range []error{syscall.ECONNRESET, syscall.EPIPE, syscall.ECONNABORTED, io.EOF, io.ErrUnexpectedEOF, net.ErrClosed} {
		if errors.Is(err, end) {
			return true
		}
	}
	return strings.Contains(err.Error(), "server closed idle connection")
}

// withoutURL is the cause below a *url.Error, whose text repeats the URL.
func withoutURL(err error) error {
	if wrapped, ok := errors.AsType[*url.Error](err); ok {
		return wrapped.Err
	}
	return err
}
