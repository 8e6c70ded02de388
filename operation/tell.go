package operation

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jobwait/jobwait/wire"
)

// tell queues a notification. It is delivered beside the wait and never delays it.
func (o *Operation) tell(now time.Time, kind wire.NotificationKind) {
	o.queue(kind, o.Briefing(now))
}

func (o *Operation) queue(kind wire.NotificationKind, briefing wire.Briefing) {
	o.rec.Notifications = append(o.rec.Notifications, wire.Notification{
		ID:       o.toldAbout(briefing) + "/" + string(kind) + "/" + strconv.Itoa(o.rec.AuditSeq),
		Kind:     kind,
		Briefing: briefing,
	})
	if briefing.Outcome != nil && o.rec.Prepared.TellDecisions {
		o.rec.EndTold = true
	}
}

// toldAbout returns the id of the escalation that a message is about. Without one it is the id of the wait; older waits use the
// operation id alone, which a wait that is reopened has in common with the one before.
func (o *Operation) toldAbout(briefing wire.Briefing) string {
	open := asked(briefing)
	switch {
	case open != nil:
		return open.ID
	case briefing.Decided != nil && briefing.Decided.Decision.EscalationID != "":
		return briefing.Decided.Decision.EscalationID
	case o.rec.Prepared.TellDecisions:
		return o.waitID()
	default:
		return o.rec.Prepared.Spec.OperationID
	}
}

// tellDecided notifies those who were asked that somebody has answered, and what holds from now on.
func (o *Operation) tellDecided(now time.Time, d wire.Decision, answered *wire.Escalation) {
	if !o.rec.Prepared.TellDecisions {
		return
	}
	briefing := o.Briefing(now)
	briefing.Decided = &wire.Decided{Decision: bareDecision(d), At: now.UTC()}
	if answered != nil && answered.ID == d.EscalationID { // a cancel while polling answers nothing
		briefing.Decided.Reason, briefing.Decided.Detail = answered.Reason, answered.Detail
	}
	o.queue(wire.NotifyDecided, briefing)
}

// endUntold reports whether people who were asked, or who decided, have not been told yet how it ended.
func (o *Operation) endUntold() bool {
	involved := o.rec.Escalations > 0 || o.rec.Proposals > 0 || o.rec.DecidedBy != ""
	return o.rec.Prepared.TellDecisions && involved && !o.rec.EndTold
}

func (o *Operation) deliver() Command {
	next := o.rec.Notifications[o.delivering]
	o.delivering++
	ended := o.rec.Outcome != nil
	return Notify{
		Request: wire.NotifyRequest{Notification: next}, Closing: ended, HandOver: ended && o.rec.Prepared.TellDecisions,
	}
}

// Notified handles the end of the delivery of the notification with this id. detail is a NoticeDetail; empty means delivered.
func (o *Operation) Notified(now time.Time, id, detail string) {
	for i, pending := range o.rec.Notifications {
		if pending.ID == id && i < o.delivering {
			o.rec.Notifications = append(o.rec.Notifications[:i:i], o.rec.Notifications[i+1:]...)
			o.delivering--
			o.noteNotice(now, pending, detail)
			return
		}
	}
}

func (o *Operation) noteNotice(now time.Time, notification wire.Notification, detail string) {
	detail = bounded(detail, maxNoticeDetail)
	o.note(wire.Entry{At: now, Event: wire.EventNotified, Reason: string(notification.Kind), Detail: detail})
	o.lastNotice = &wire.NoticeView{Kind: notification.Kind, At: now.UTC(), Detail: detail}
}

// How long the end of a wait is held for messages about questions that are already answered: they are being delivered, and the
// server rejects an end that crosses with their delivery. Older waits hold for lastWordsTime after their end. Newer ones hold for
// freshTime after the message was queued, so that a channel that does not accept it delays no outcome.
const (
	lastWordsTime = 15 * time.Second
	freshTime     = 2 * time.Second
)

// lastWords reports whether the end still waits for a message, and until when; the zero time means until it is delivered.
func (o *Operation) lastWords(now time.Time) (time.Time, bool) {
	if len(o.rec.Notifications) == 0 {
		return time.Time{}, false
	}
	if slices.ContainsFunc(o.rec.Notifications, o.lastWord) {
		return time.Time{}, true
	}
	until := o.rec.Outcome.ClosedAt.Add(lastWordsTime)
	if o.rec.Prepared.TellDecisions {
		until = o.rec.Notifications[len(o.rec.Notifications)-1].Briefing.At.Add(freshTime)
	}
	return until, now.Before(until)
}

// lastWord reports whether a notification is the one that says how the wait ended.
func (o *Operation) lastWord(n wire.Notification) bool {
	if o.rec.Prepared.TellDecisions {
		return n.Briefing.Outcome != nil // another workflow takes it over at once
	}
	return n.Kind == wire.NotifyClosed
}

// giveUpTelling records in the audit the messages that are still being delivered at the end.
func (o *Operation) giveUpTelling(now time.Time) {
	if !o.rec.Prepared.TellDecisions {
		return
	}
	for _, pending := range o.rec.Notifications {
		o.noteNotice(now, pending, noticePending)
	}
	o.rec.Notifications, o.delivering = nil, 0
}

// Notice returns the latest notification of this run, nil if there was none.
func (o *Operation) Notice() *wire.NoticeView {
	if n := len(o.rec.Notifications); n > 0 {
		last := o.rec.Notifications[n-1]
		return &wire.NoticeView{Kind: last.Kind, Pending: true, At: last.Briefing.At}
	}
	return o.lastNotice
}

// The words of audit entries about notifications. They are bounded, because a worker may have many channels.
const (
	noticeFailed     = "not delivered"
	noticeDelivered  = "delivered: "
	noticeNobody     = "no channel takes it"
	noticePending    = "still being delivered"
	noticeHandedOver = "handed over to workflow "
	maxNoticeDetail  = 1024
)

// NoticeHandedOver returns the detail of a notification that another workflow delivers.
func NoticeHandedOver(workflowID string) string { return noticeHandedOver + workflowID }

// NoticeDetail summarizes a delivery for the audit: which channels have it, and why the others do not. failed means that
// it was given up.
func NoticeDetail(result wire.NotifyResult, failed bool) string {
	var has, hasNot []string
	for _, channel := range result.Channels {
		switch {
		case channel.State == wire.DeliveryDelivered:
			has = append(has, channel.Channel)
		case channel.Detail != "":
			hasNot = append(hasNot, channel.Channel+" ("+channel.Detail+")")
		default:
			hasNot = append(hasNot, channel.Channel)
		}
	}
	var parts []string
	switch {
	case len(hasNot) > 0:
		parts = append(parts, noticeFailed+": "+strings.Join(hasNot, ", "))
	case failed:
		parts = append(parts, noticeFailed)
	case result.Nobody:
		return noticeNobody
	}
	if len(has) > 0 {
		parts = append(parts, noticeDelivered+strings.Join(has, ", "))
	}
	return bounded(oneLine(strings.Join(parts, "; ")), maxNoticeDetail)
}

// NoticeText returns the result of a notification in words.
func NoticeText(kind wire.NotificationKind, detail string) string {
	about := " (" + string(kind) + ")"
	if channels, ok := strings.CutPrefix(detail, noticeDelivered); ok {
		return "told people" + about + " by " + channels
	}
	if workflow, ok := strings.CutPrefix(detail, noticeHandedOver); ok {
		return "telling people" + about + " goes on as workflow " + workflow
	}
	switch detail {
	case "":
		return "told people" + about
	case noticeNobody:
		return "told nobody" + about + ": " + noticeNobody
	case noticePending:
		return "telling people" + about + ": still under way at the end"
	default:
		return "could not tell people" + about + ": " + strings.TrimPrefix(detail, noticeFailed+": ")
	}
}
