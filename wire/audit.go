package wire

import (
	"encoding/json"
	"time"
)

// Entry is one entry of a wait's audit: an event with its cause and the state after it. The fields are in canonical order.
type Entry struct {
	// Seq counts from 1 over all runs of the wait.
	Seq               int         `json:"seq"`
	At                time.Time   `json:"at"`
	Event             Event       `json:"event"`
	RawState          string      `json:"raw_state"`
	Category          Category    `json:"category"`
	HTTPStatus        int         `json:"http_status"`
	ProviderRequestID string      `json:"provider_request_id"`
	NextPollAt        *time.Time  `json:"next_poll_at"`
	DelaySource       DelaySource `json:"delay_source"`
	// StatusRequestsUsed and MaxStatusRequests are those of Counters and Limits after the event.
	StatusRequestsUsed int        `json:"status_requests_used"`
	MaxStatusRequests  int        `json:"max_status_requests"`
	DeadlineAt         *time.Time `json:"deadline_at"`
	Reason             string     `json:"reason"`
	Detail             string     `json:"detail"`
	// Decision is the payload as canonical JSON (RFC 8785); an unparsable one is a string of at most 1 KiB.
	Decision    json.RawMessage `json:"decision"`
	TableDigest string          `json:"table_digest"`
	Prev        string          `json:"prev"`
	Hash        string          `json:"hash"`
}
