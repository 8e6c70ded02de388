// Package netfail puts the failure of a network exchange into one word: the texts of net/http and of what lies below hold the
// URL, and whatever the other side wrote.
package netfail

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"

	"github.com/jobwait/jobwait/wire"
)

// Word is the kind of a failed exchange as one of wire.TransportDNS and the like. Of a time-out nobody knows whether the request
// was delivered.
func Word(ctx context.Context, err error) string {
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
