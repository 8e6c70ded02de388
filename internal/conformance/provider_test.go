package conformance_test

import (
	"cmp"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jobwait/jobwait/statetables"
)

// provider is every host of a table in one: whatever is dialled leads here, by TLS where the URL says so. It gives one
// answer to all requests and remembers them.
type provider struct {
	secure, plain *httptest.Server
	authority     *authority

	mu       sync.Mutex
	answer   http.HandlerFunc
	requests []*http.Request
}

func newProvider(t *testing.T) *provider {
	t.Helper()
	p := &provider{authority: newAuthority(t)}
	p.secure = httptest.NewUnstartedServer(http.HandlerFunc(p.serve))
	p.secure.TLS = &tls.Config{GetCertificate: p.authority.certificate, MinVersion: tls.VersionTLS12}
	p.secure.Config.ErrorLog = log.New(io.Discard, "", 0)
	p.secure.StartTLS()
	p.plain = httptest.NewServer(http.HandlerFunc(p.serve))
	t.Cleanup(p.secure.Close)
	t.Cleanup(p.plain.Close)
	return p
}

func (p *provider) serve(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	answer := p.answer
	p.requests = append(p.requests, r)
	p.mu.Unlock()
	answer(w, r)
}

// dial leads to the server of a scheme, whatever the address is. The context's deadline is one of the bubble's clock, which
// the network does not know.
func (p *provider) dial(scheme string) func(context.Context, string, string) (net.Conn, error) {
	to := p.secure
	if scheme == "http" {
		to = p.plain
	}
	return func(ctx context.Context, network, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(context.WithoutCancel(ctx), network, to.Listener.Addr().String())
	}
}

// give sets the answer and forgets the requests so far.
func (p *provider) give(answer http.HandlerFunc) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.answer, p.requests = answer, nil
}

func (p *provider) got() []*http.Request {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.requests)
}

// answering gives an example's answer as it is written. The server's own Date would decide what a date in the answer means.
func answering(response statetables.Response) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		header := w.Header()
		header["Date"] = nil
		header.Set("Content-Type", "application/json")
		for name, values := range response.Header {
			header[name] = values
		}
		w.WriteHeader(response.Status)
		if len(response.Body) > 0 {
			_, _ = w.Write(response.Body)
		}
	}
}

// authority certifies any host.
type authority struct {
	key  *ecdsa.PrivateKey
	cert *x509.Certificate
	pool *x509.CertPool

	// impostor is whom a certificate is for, in place of the host that was asked for.
	impostor string

	mu     sync.Mutex
	issued map[string]*tls.Certificate
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := certificateFor("authority")
	template.IsCA, template.BasicConstraintsValid = true, true
	raw, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	require.NoError(t, err)
	cert, err := x509.ParseCertificate(raw)
	require.NoError(t, err)
	a := &authority{key: key, cert: cert, pool: x509.NewCertPool(), issued: map[string]*tls.Certificate{}}
	a.pool.AddCert(cert)
	return a
}

func certificateFor(name string) *x509.Certificate {
	return &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, DNSNames: []string{name},
		NotBefore: time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC), NotAfter: time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC),
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
}

func (a *authority) certificate(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	host := cmp.Or(a.impostor, hello.ServerName)
	if done, ok := a.issued[host]; ok {
		return done, nil
	}
	raw, err := x509.CreateCertificate(rand.Reader, certificateFor(host), a.cert, a.key.Public(), a.key)
	if err != nil {
		return nil, err
	}
	a.issued[host] = &tls.Certificate{Certificate: [][]byte{raw}, PrivateKey: a.key}
	return a.issued[host], nil
}
