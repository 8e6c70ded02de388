package wire

import (
	"encoding/json"
	"time"
)

// Entry is one decision of the controller with its cause. Its fields stand in the order of their canonical form.
type Entry struct {
	// Seq counts from 1 over all runs of a wait.
	Seq               int         `json:"seq"`
	At                time.Time   `json:"at"`
	Event             Event       `json:"event"`
	RawState          string      `json:"raw_state"`
	Category          Category    `json:"category"`
	HTTPStatus        int         `json:"http_status"`
	ProviderRequestID string      `json:"provider_request_id"`
	NextPollAt        *time.Time  `json:"next_poll_at"`
	DelaySource       DelaySource `json:"delay_source"`
	// StatusRequestsUsed and MaxStatusRequests count what they do in Counters and Limits.
	StatusRequestsUsed int        `json:"status_requests_used"`
	MaxStatusRequests  int        `json:"max_status_requests"`
	DeadlineAt         *time.Time `json:"deadline_at"`
	Reason             string     `json:"reason"`
	Detail             string     `json:"detail"`
	// Decision is the payload in RFC 8785 form; an unparsable one stands as a string of at most 1 KiB.
	Decision    json.RawMessage `json:"decision"`
	TableDigest string          `json:"table_digest"`
	Prev        string          `json:"prev"`
	Hash        string          `json:"hash"`
}
