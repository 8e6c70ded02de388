package notify

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/jobwait/jobwait/operation"
	"github.com/jobwait/jobwait/wire"
)

// maxText bounds the text of a message, in bytes. Ours are a fraction of it.
const maxText = 12_000

// message is a notification in words, for one receiver.
type message struct {
	// key is the idempotency key: the same for every attempt, another for every receiver and notification. It has no ".", which
	// would make what a webhook signs ambiguous.
	key string
	// thread is the same for all messages about one wait.
	thread       string
	notification wire.Notification
	workflowID   string
	// headline is the first line of text.
	headline, text string
	// link leads to the page of the wait; empty: nowhere.
	link string
}

func newMessage(n wire.Notification, base, receiver string) message {
	about := n.Briefing
	m := message{
		notification: n, workflowID: workflowOf(about),
		headline: operation.Headline(about),
	}
	wait := m.workflowID + "\n" + about.OpenedAt.UTC().Format(time.RFC3339Nano)
	m.thread = digest(wait)
	m.key = "msg_" + digest(wait+"\n"+n.ID+"\n"+receiver)
	if base != "" {
		m.link = strings.TrimSuffix(base, "/") + "/waits/" + wire.EscapeSegment(m.workflowID)
	}
	m.text = cut(operation.Message(about)+m.footer(), maxText)
	return m
}

// workflowOf is the workflow that a briefing speaks of. A submission has an id of its own: there may be no job yet.
func workflowOf(about wire.Briefing) string {
	if about.Submission != nil {
		return wire.SubmitWorkflowID(about.Provider, about.Account, about.OperationID)
	}
	return wire.WorkflowID(about.Provider, about.Account, about.ProviderJobID)
}

func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:16])
}

// footer says where to go, and of which moment the message speaks: it may be late.
func (m message) footer() string {
	var lines strings.Builder
	if m.link != "" {
		fmt.Fprintf(&lines, "\nthis wait: %s", m.link)
	}
	fmt.Fprintf(&lines, "\nas of %s, message %s", m.notification.Briefing.At.UTC().Format("2006-01-02T15:04:05Z"), m.notification.ID)
	return lines.String()
}

// subject is the headline with what it is about, in one line.
func (m message) subject() string {
	return cut(fmt.Sprintf("%s (%s)", m.headline, m.notification.Briefing.OperationID), 200)
}

// cut shortens a text on a character.
func cut(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	for limit > 0 && !utf8.RuneStart(text[limit]) {
		limit--
	}
	return text[:limit] + "..."
}
