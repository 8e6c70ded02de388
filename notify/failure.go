package notify

import (
	"errors"
	"time"
)

// failure is an attempt that did not deliver, in a few words of our own: the texts of what lies below hold URLs, addresses,
// and what the other side wrote.
type failure struct {
	detail string
	// final says that the other side has turned the message down for good.
	final bool
	// after is how long the other side wants to be left alone; 0: it does not say.
	after time.Duration
}

func (f *failure) Error() string { return f.detail }

// asFailure is the failure in an error. Any other error is one of ours, of which nothing is told but that it is.
func asFailure(err error) *failure {
	var known *failure
	if errors.As(err, &known) {
		return known
	}
	return &failure{detail: "internal error"}
}
