package activities

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"

	"github.com/jobwait/jobwait/internal/netfail"
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
		return false, &transportError{netfail.Word(ctx, cause)}
	}
}

// withoutURL is the cause below a *url.Error, whose text repeats the URL.
func withoutURL(err error) error {
	if wrapped, ok := errors.AsType[*url.Error](err); ok {
		return wrapped.Err
	}
	return err
}
