package activities

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jobwait/jobwait/internal/netfail"
	"github.com/jobwait/jobwait/statetables"
	"github.com/jobwait/jobwait/wire"
)

const (
	// maxRedirects is how often a reference may lead on; downloads do so where a status must not.
	maxRedirects  = 5
	fetchPatience = 30 * time.Second
	// fetchPiece is what is read and written at a time.
	fetchPiece = 256 << 10
	// maxShort is how many connections in a row may break before they have brought a piece, and betweenShort what lies between
	// them: what such a provider is asked is bounded by what it gives.
	maxShort     = 5
	betweenShort = time.Second
)

// download reads one result, over as many connections as it takes.
type download struct {
	sender *sender
	clear  func(ctx context.Context, address string, allowed allowance) (hop, error)
	// reference says whether the credential may be sent for the reference itself.
	reference allowance
	// pass lets a request pass its lane.
	pass func(ctx context.Context, at hop) (*passage, error)
	// address is the reference; limit the most bytes that are taken.
	address string
	limit   int64
	// patience is how long an answer, or the next piece of a body, may take to come.
	patience time.Duration

	answer *http.Response
	// connection is the context of the present one, which quiet ends and stop releases.
	connection context.Context //nolint:containedctx // one connection's, made and ended in here
	quiet      *time.Timer
	stop       context.CancelFunc

	digest  hash.Hash
	done    atomic.Int64 // read by who tells the progress
	total   int64        // -1: not known
	mark    string
	resumed int
	began   int64 // done when the present connection began
	short   int
}

// open asks for the whole result.
func (d *download) open(ctx context.Context) error {
	d.digest, d.total = sha256.New(), -1
	if err := d.connect(ctx); err != nil {
		return err
	}
	d.total, d.mark = d.answer.ContentLength, resumeMark(d.answer.Header)
	if d.total > d.limit {
		d.close()
		return endFetch(wire.FetchTooLarge, "the provider announces %d bytes, at most %d are taken", d.total, d.limit)
	}
	return nil
}

// endless reports an answer that ends where its connection does (RFC 9112 6.3, rule 8), whole or not.
func (d *download) endless() bool { return d.total < 0 && len(d.answer.TransferEncoding) == 0 }

// resumeMark is what a broken download is taken up by: a strong entity tag, or the time of the last change where there is
// none (RFC 9110 13.1.5). Empty: it cannot be.
func resumeMark(header http.Header) string {
	if tag := header.Get("ETag"); strings.HasPrefix(tag, `"`) {
		return tag
	}
	if header.Get("ETag") == "" && header.Get("Accept-Ranges") == "bytes" && settled(header) {
		return header.Get("Last-Modified")
	}
	return ""
}

// settled reports a time of the last change that another change would not have left as it is (RFC 9110 8.8.2.2): it tells whole
// seconds, and the answer is at least one younger.
func settled(header http.Header) bool {
	changed, err := http.ParseTime(header.Get("Last-Modified"))
	if err != nil {
		return false
	}
	sent, err := http.ParseTime(header.Get("Date"))
	return err == nil && sent.Sub(changed) >= time.Second
}

func (d *download) header(name string) string { return d.answer.Header.Get(name) }

func (d *download) contentType() string { return bound(d.header("Content-Type"), 256) }

func bound(text string, limit int) string {
	if len(text) > limit {
		text = text[:limit]
	}
	return strings.ToValidUTF8(text, "")
}

func (d *download) close() {
	if d.answer != nil {
		d.quiet.Stop()
		_ = d.answer.Body.Close()
		d.stop()
	}
}

// connect asks for the result from where it broke off, and follows where that leads.
func (d *download) connect(ctx context.Context) error {
	address, allowed := d.address, d.reference
	for range maxRedirects + 1 {
		at, err := d.askInTurn(ctx, address, allowed)
		if err != nil {
			return err
		}
		if !redirects(d.answer) {
			return d.judge(at)
		}
		next, err := at.at.Parse(d.header("Location"))
		d.close()
		if err != nil || d.header("Location") == "" {
			return endFetch(wire.FetchUnexpectedAnswer, "a redirect (%d) that leads nowhere", d.answer.StatusCode)
		}
		address, allowed = next.String(), followed(at)
	}
	return endFetch(wire.FetchUnexpectedAnswer, "more than %d redirects", maxRedirects)
}

func redirects(answer *http.Response) bool {
	switch answer.StatusCode {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		return true
	default:
		return false
	}
}

// askInTurn sends one GET where it may, when its lane lets it.
func (d *download) askInTurn(ctx context.Context, address string, allowed allowance) (hop, error) {
	at, err := d.clear(ctx, address, allowed)
	if err != nil {
		return hop{}, err
	}
	gone, err := d.pass(ctx, at)
	if err != nil {
		return hop{}, err
	}
	if gone.waited { // for minutes, maybe: the credential is read afresh
		at, err = d.clear(ctx, address, allowed)
	}
	if err == nil {
		err = d.ask(ctx, at)
	}
	if err != nil {
		gone.tell(nil)
		return hop{}, err
	}
	gone.tell(d.answer)
	return at, nil
}

// ask sends one GET. Its context ends when nothing comes for a while.
func (d *download) ask(ctx context.Context, at hop) error {
	d.connection, d.stop = context.WithCancel(ctx)
	d.quiet = time.AfterFunc(d.patience, d.stop)
	request, err := d.sender.request(d.connection, at.request) //nolint:contextcheck // the connection's is made of ctx
	if err != nil {
		return endFetch(wire.FetchReferenceRejected, "no request can be made of it")
	}
	if d.done.Load() > 0 {
		request.Header.Set("Range", fmt.Sprintf("bytes=%d-", d.done.Load()))
		request.Header.Set("If-Range", d.mark)
	}
	client, err := d.sender.client(request, at.request.AllowPrivateNetwork)
	if err != nil {
		return &fetchAgain{detail: "proxy"}
	}
	d.answer, err = client.Do(request) //nolint:bodyclose // close does
	if err != nil && d.wentQuiet(ctx) {
		return &fetchAgain{detail: wire.TransportTimeout}
	}
	return unreached(err)
}

// wentQuiet reports whether the connection was given up because nothing came.
func (d *download) wentQuiet(ctx context.Context) bool {
	return d.connection.Err() != nil && ctx.Err() == nil
}

// unreached is why there was no answer, in the words of never.
func unreached(err error) error {
	failure, ok := errors.AsType[*transportError](err)
	switch {
	case err == nil:
		return nil
	case ok:
		return &fetchAgain{detail: failure.detail}
	case errors.As(err, new(*addressError)):
		return endFetch(wire.FetchReferenceRejected, "%s", &addressError{})
	case errors.Is(err, errHeaderTooLarge):
		return endFetch(wire.FetchUnexpectedAnswer, "%s", errHeaderTooLarge)
	default:
		return &fetchAgain{detail: wire.TransportOther}
	}
}

// judge reads the code of an answer, and closes what is no result.
func (d *download) judge(at hop) error {
	if d.answer.StatusCode == http.StatusOK && d.done.Load() == 0 || d.continues() {
		return nil
	}
	defer d.close()
	code := d.answer.StatusCode
	switch {
	case code == http.StatusTooManyRequests, code >= 500, code == http.StatusRequestTimeout:
		return &fetchAgain{detail: "answered " + strconv.Itoa(code), after: d.retryAfter()}
	case at.credential && (code == http.StatusUnauthorized || code == http.StatusForbidden):
		return endFetch(wire.FetchDenied, "answered %d", code)
	case code == http.StatusNotFound, code == http.StatusGone, code == http.StatusUnauthorized, code == http.StatusForbidden,
		code == http.StatusBadRequest && !at.credential: // what stores say of a link that has run out
		return &fetchEnd{reason: wire.FetchReferenceExpired, detail: "answered " + strconv.Itoa(code), renewable: at.renewable}
	case d.done.Load() > 0 && (code == http.StatusOK || code == http.StatusPartialContent || code == http.StatusRequestedRangeNotSatisfiable):
		return &fetchAgain{detail: "the result changed, or cannot be taken up again"}
	default:
		return endFetch(wire.FetchUnexpectedAnswer, "answered %d", code)
	}
}

// continues reports whether an answer goes on exactly where the last connection broke off.
func (d *download) continues() bool {
	if d.answer.StatusCode != http.StatusPartialContent || d.done.Load() == 0 {
		return false
	}
	if !d.sameResult() {
		return false
	}
	from, total, ok := strings.Cut(strings.TrimPrefix(d.header("Content-Range"), "bytes "), "/")
	first, _, _ := strings.Cut(from, "-")
	return ok && first == strconv.FormatInt(d.done.Load(), 10) && d.learnsTotal(total)
}

// learnsTotal holds the length of the whole that a rest names against the one that is known. Where none was known the rest has to
// name it: it may be less than was asked for (RFC 9110 15.3.7), so that its end is not that of the whole.
func (d *download) learnsTotal(text string) bool {
	if d.total >= 0 {
		return text == strconv.FormatInt(d.total, 10) || text == "*"
	}
	total, err := strconv.ParseInt(text, 10, 64)
	if err != nil || total <= d.done.Load() {
		return false
	}
	d.total = total
	return true
}

// sameResult holds a rest against the beginning, because not everybody heeds If-Range. A rest has the entity tag again; the time of
// the last change it may leave out (RFC 9110 15.3.7).
func (d *download) sameResult() bool {
	if strings.HasPrefix(d.mark, `"`) {
		return d.header("ETag") == d.mark
	}
	changed := d.header("Last-Modified")
	return changed == "" || changed == d.mark
}

func (d *download) retryAfter() time.Duration {
	wanted, _ := statetables.ParseRetryAfter(d.answer.Header.Values("Retry-After"), d.header("Date"), time.Now())
	return askedFor(wanted)
}

// copyTo copies the body, and takes it up again when the connection breaks.
func (d *download) copyTo(ctx context.Context, to io.Writer) (carried, error) {
	piece := make([]byte, fetchPiece)
	for {
		n, err := d.answer.Body.Read(piece)
		d.quiet.Reset(d.patience)
		if n > 0 {
			if failed := d.take(piece[:n], to); failed != nil {
				return carried{}, failed
			}
		}
		switch {
		case err == nil:
			continue
		case errors.Is(err, io.EOF) && (d.total < 0 || d.done.Load() == d.total):
			return carried{bytes: d.done.Load(), sha256: hex.EncodeToString(d.digest.Sum(nil))}, nil
		}
		if err := d.resume(ctx, err); err != nil {
			return carried{}, err
		}
	}
}

func (d *download) take(piece []byte, to io.Writer) error {
	if d.done.Add(int64(len(piece))) > d.limit {
		return endFetch(wire.FetchTooLarge, "more came than the %d bytes that are taken", d.limit)
	}
	d.digest.Write(piece)
	if _, err := to.Write(piece); err != nil {
		return unwritable(err)
	}
	return nil
}

// resume asks for the rest after a connection broke.
func (d *download) resume(ctx context.Context, broke error) error {
	detail := netfail.Word(ctx, withoutURL(broke))
	if d.wentQuiet(ctx) {
		detail = wire.TransportTimeout
	}
	d.close()
	d.countShort()
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case d.mark == "" || d.done.Load() == 0 || d.short > maxShort:
		return &fetchAgain{detail: detail}
	}
	if d.short > 0 {
		if err := pause(ctx, betweenShort); err != nil {
			return err
		}
	}
	d.resumed++
	return d.connect(ctx)
}

// countShort counts the connections in a row that brought less than a piece.
func (d *download) countShort() {
	brought := d.done.Load() - d.began
	d.began += brought
	if d.short++; brought >= fetchPiece {
		d.short = 0
	}
}
