// Package waits reads and answers the waits of a Temporal server for the programs that show them to people: it lists them by
// visibility, asks one how it stands, puts its audit together over all its runs, and sends it a decision or a nudge.
package waits

import (
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
)

// Client is a connection to Temporal, with the converter that payloads outside of the SDK's own calls are read by.
type Client struct {
	client.Client
	Converter converter.DataConverter
}

// New wraps a client that was made with the given converter; nil is the SDK's default.
func New(c client.Client, dc converter.DataConverter) Client {
	if dc == nil {
		dc = converter.GetDefaultDataConverter()
	}
	return Client{Client: c, Converter: dc}
}

// HintedError is an error with the way out of it.
type HintedError struct {
	error
	hint string
}

// Unwrap gives the error without its hint.
func (e *HintedError) Unwrap() error { return e.error }

// Hint is what to do about it, in words.
func (e *HintedError) Hint() string { return e.hint }

func hinted(err error, hint string) error { return &HintedError{error: err, hint: hint} }
