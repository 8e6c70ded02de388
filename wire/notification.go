package wire

import "time"

// Decided is a decision that was applied, as people are told of it. What holds after it is in the briefing's limits, phase
// and outcome.
type Decided struct {
	Decision Decision `json:"decision"`
	// Reason and Detail are those of the escalation that it answered; empty for a cancel while polling.
	Reason Reason    `json:"reason,omitempty"`
	Detail string    `json:"detail,omitempty"`
	At     time.Time `json:"at"`
}

// NotifyRequest asks Notify to tell people.
type NotifyRequest struct {
	Notification Notification `json:"notification"`
}

// NotifyResult says what became of a notification on each channel of the worker. It is empty where the worker's notifier
// does not tell channels apart.
type NotifyResult struct {
	Channels []Delivery `json:"channels,omitempty"`
	// Nobody says that no channel takes this notification.
	Nobody bool `json:"nobody,omitempty"`
}

// Delivery is the state of one notification on one channel.
type Delivery struct {
	// Channel is the channel's name in the worker's configuration.
	Channel string        `json:"channel"`
	State   DeliveryState `json:"state"`
	// Detail says in a few words why it is not delivered: "HTTP 500", "timeout". Never a URL, never a secret.
	Detail string `json:"detail,omitempty"`
	// Attempts counts the attempts that were made.
	Attempts int `json:"attempts,omitempty"`
	// NotBefore is when the next attempt may be made; null when none will be.
	NotBefore *time.Time `json:"not_before,omitempty"`
}

// DeliveryState says how far one notification came on one channel.
type DeliveryState string

// The states of a delivery.
const (
	DeliveryPending   DeliveryState = "pending"   // not delivered, and tried again
	DeliveryDelivered DeliveryState = "delivered" // the other side has taken it
	DeliveryRefused   DeliveryState = "refused"   // the other side has turned it down for good
)

// NoticeView is the latest notification of a wait, as a query shows it.
type NoticeView struct {
	Kind NotificationKind `json:"kind"`
	// Pending says that it is still being delivered. Otherwise Detail says what came of it; empty: delivered.
	Pending bool      `json:"pending,omitempty"`
	At      time.Time `json:"at"`
	Detail  string    `json:"detail,omitempty"`
}
