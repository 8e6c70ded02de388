package notify

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/jobwait/jobwait/activities"
	"github.com/jobwait/jobwait/internal/netfail"
	"github.com/jobwait/jobwait/internal/version"
	"github.com/jobwait/jobwait/statetables"
)

const (
	// attemptTimeout bounds one attempt on one channel. Standard Webhooks recommends 15 to 30 seconds.
	attemptTimeout = 15 * time.Second
	// longestAfter is the longest Retry-After that is kept; a message is given up before it is over.
	longestAfter   = time.Hour
	maxAnswerRead  = 4 << 10
	maxAnswerField = 64 << 10
)

// newHTTPClient posts each message over a connection of its own, so that net/http finds no reason to repeat a request, and
// follows no redirect.
func newHTTPClient(options Options) *http.Client {
	proxy := options.Proxy
	if proxy == nil {
		proxy = http.ProxyFromEnvironment
	}
	return &http.Client{
		Timeout: attemptTimeout,
		Transport: &http.Transport{
			Proxy: proxy, DisableKeepAlives: true, MaxResponseHeaderBytes: maxAnswerField,
			TLSClientConfig: &tls.Config{RootCAs: options.RootCAs, MinVersion: tls.VersionTLS12},
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// post makes one request. Any 2xx means that the other side has the message.
func post(ctx context.Context, client *http.Client, to *url.URL, header http.Header, body []byte) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, to.String(), bytes.NewReader(body))
	if err != nil {
		return &failure{detail: "the URL cannot be used"}
	}
	request.Header = header
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("User-Agent", "jobwait/"+version.Module())
	answer, err := client.Do(request)
	if err != nil {
		return &failure{detail: netfail.Word(ctx, errors.Unwrap(err))}
	}
	defer answer.Body.Close()
	_, _ = io.CopyN(io.Discard, answer.Body, maxAnswerRead)
	return judge(answer, time.Now())
}

// judge reads the code of an answer. Everything but a 410, which asks to be left alone, may be otherwise in a minute.
func judge(answer *http.Response, now time.Time) error {
	switch code := answer.StatusCode; {
	case code >= 200 && code < 300:
		return nil
	case code >= 300 && code < 400:
		return &failure{detail: fmt.Sprintf("HTTP %d, redirects are not followed", code)}
	case code == http.StatusGone:
		return &failure{detail: "HTTP 410, gone", final: true}
	default:
		return &failure{detail: fmt.Sprintf("HTTP %d", code), after: retryAfter(answer.Header, now)}
	}
}

func retryAfter(header http.Header, now time.Time) time.Duration {
	seconds, _ := statetables.ParseRetryAfter(header.Values("Retry-After"), header.Get("Date"), now)
	if seconds == nil {
		return 0
	}
	return time.Duration(min(*seconds, int64(longestAfter/time.Second))) * time.Second
}

// readURL reads and checks the URL of a webhook. Its errors do not repeat it: it is a secret.
func readURL(ctx context.Context, from activities.SecretSource, allowHTTP bool) (*url.URL, error) {
	secret, err := from(ctx)
	if err != nil {
		return nil, fmt.Errorf("url: %w", err)
	}
	return parseURL(secret.Reveal(), allowHTTP)
}

func parseURL(text string, allowHTTP bool) (*url.URL, error) {
	parsed, err := url.Parse(text)
	switch {
	case len(text) > maxURL:
		return nil, fmt.Errorf("url: it has %d bytes, at most %d are allowed", len(text), maxURL)
	case err != nil || parsed.Host == "" || parsed.Opaque != "":
		return nil, errors.New("url: it is not an absolute URL")
	case parsed.User != nil:
		return nil, errors.New("url: it has a user or a password; the signature is what proves who sends")
	case parsed.Scheme == "https", parsed.Scheme == "http" && (allowHTTP || loopback(parsed.Hostname())):
		return parsed, nil
	case parsed.Scheme == "http":
		return nil, errors.New("url: it begins with http, and everybody on the way could read along; use https, or say allow_http: true")
	default:
		return nil, errors.New("url: the scheme is neither https nor http")
	}
}

// loopback reports whether a host is this machine.
func loopback(host string) bool {
	address := net.ParseIP(host)
	return host == "localhost" || address != nil && address.IsLoopback()
}
