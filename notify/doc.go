// Package notify sends notifications of waits to people: by Slack-compatible incoming webhooks, by webhooks signed according to the
// Standard Webhooks specification, and by e-mail. Its Notifier is an option of the worker:
//
//	options, err := notify.Load("notify.yaml")
//	notifier, err := notify.New(ctx, options)
//	plugin, err := jobwait.NewPlugin(jobwait.Options{Tables: tables, Notifier: notifier})
//
// A notification is retried for up to an hour on the channels that have not accepted it. A channel that has accepted it does not get
// it again, unless the worker is lost at that very moment; the second copy then has the same idempotency key. Waits do not wait
// for deliveries. The audit records, by the names of the channels, what became of each notification.
//
// Secrets are read once when the Notifier is made, and again for every notification.
package notify
