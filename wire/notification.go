package wire

import "time"

// Decided is a decision that was applied, as notifications report it. Its effect shows in the limits, phase and outcome of the
// briefing.
type Decided struct {
	Decision Decision `json:"decision"`
	// Reason and Detail are taken from the escalation that it answered; empty for a cancel while polling.
	Reason Reason    `json:"reason,omitempty"`
	Detail string    `json:"detail,omitempty"`
	At     time.Time `json:"at"`
}

// NotifyRequest is the input of ActivityNotify and of WorkflowTellPeople.
type NotifyRequest struct {
	Notification Notification `json:"notification"`
}

// NotifyResult is the state of a notification on each channel of the worker. It is empty if the worker's notifier has no channels.
type NotifyResult struct {
	Channels []Delivery `json:"channels,omitempty"`
	// Nobody reports whether there was no channel that takes this notification.
	Nobody bool `json:"nobody,omitempty"`
}

// Delivery is the state of one notification on one channel.
type Delivery struct {
	// Channel is the channel's name in the worker's configuration.
	Channel string        `json:"channel"`
	State   DeliveryState `json:"state"`
	// Detail says briefly why it is not delivered, such as "HTTP 500" or "timeout". It never contains a URL or a secret.
	Detail string `json:"detail,omitempty"`
	// Attempts is the number of attempts so far.
	Attempts int `json:"attempts,omitempty"`
	// NotBefore is the earliest time of the next attempt; null if there will be none.
	NotBefore *time.Time `json:"not_before,omitempty"`
}

// DeliveryState is the state of a notification on one channel.
type DeliveryState string

// The states of a delivery.
const (
	DeliveryPending   DeliveryState = "pending"   // not delivered yet; will be retried
	DeliveryDelivered DeliveryState = "delivered" // accepted by the other side
	DeliveryRefused   DeliveryState = "refused"   // rejected by the other side for good
)

// NoticeView is the latest notification of a wait, as a query shows it.
type NoticeView struct {
	Kind NotificationKind `json:"kind"`
	// Pending reports whether it is still being delivered. If not, Detail says why it was not delivered; empty means it was.
	Pending bool      `json:"pending,omitempty"`
	At      time.Time `json:"at"`
	Detail  string    `json:"detail,omitempty"`
}
