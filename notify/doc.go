// Package notify tells people what a wait wants of them: by a Slack-compatible incoming webhook, by a webhook that is signed by
// the Standard Webhooks specification, and by e-mail. A Notifier is what activities.Options want:
//
//	options, err := notify.Load("notify.yaml")
//	notifier, err := notify.New(ctx, options)
//	plugin, err := jobwait.NewPlugin(jobwait.Options{Tables: tables, Notifier: notifier})
//
// A message is tried again, on the channels that have not taken it, for up to an hour. What one of them has taken is not sent
// to it again, unless a worker is lost in the moment between; then it carries the same idempotency key. No wait stands still
// meanwhile. What became of a message stands in the audit, by the names of the channels.
package notify
