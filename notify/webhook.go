package notify

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/jobwait/jobwait/activities"
	"github.com/jobwait/jobwait/internal/webhookkey"
	"github.com/jobwait/jobwait/wire"
)

const maxSecrets = 5

func (w Webhook) validate() error {
	switch {
	case w.URL == nil:
		return errors.New("url is missing: the endpoint's")
	case len(w.Secrets) < 1 || len(w.Secrets) > maxSecrets:
		return fmt.Errorf("secrets has %d entries, allowed is 1 to %d", len(w.Secrets), maxSecrets)
	default:
		return nil
	}
}

// webhookSender posts signed JSON.
type webhookSender struct {
	client *http.Client
	config Webhook
}

func (s webhookSender) check(ctx context.Context) error {
	_, _, err := s.read(ctx)
	return err
}

func (s webhookSender) read(ctx context.Context) (*url.URL, []*standardwebhooks.Webhook, error) {
	to, err := readURL(ctx, s.config.URL, s.config.AllowHTTP)
	if err != nil {
		return nil, nil, err
	}
	var signers []*standardwebhooks.Webhook
	for i, from := range s.config.Secrets {
		signer, err := readSigner(ctx, from)
		if err != nil {
			return nil, nil, fmt.Errorf("secret %d: %w", i+1, err)
		}
		signers = append(signers, signer)
	}
	return to, signers, nil
}

// readSigner checks what the library takes as it comes. Errors do not repeat the value.
func readSigner(ctx context.Context, from activities.SecretSource) (*standardwebhooks.Webhook, error) {
	secret, err := from(ctx)
	if err != nil {
		return nil, err
	}
	return webhookkey.Parse(secret.Reveal())
}

// Event is the body of a signed webhook.
type Event struct {
	// Type is "wait." and the kind: wait.escalated, wait.reminded, wait.proposed, wait.closed, wait.decided, wait.ended.
	Type string `json:"type"`
	// Timestamp is when it happened, which may be long before it is delivered.
	Timestamp time.Time `json:"timestamp"`
	Data      EventData `json:"data"`
}

// EventData is the content of a notification, as text and as fields.
type EventData struct {
	// ID is the notification's id. The webhook-id header is derived from it and is the idempotency key.
	ID string `json:"id"`
	// WorkflowID is that of the wait, or of the submission if the briefing has one.
	WorkflowID string `json:"workflow_id"`
	// URL is the page of the wait in the inbox; empty if Options.BaseURL is.
	URL string `json:"url"`
	// Text is the message in words.
	Text     string        `json:"text"`
	Briefing wire.Briefing `json:"briefing"`
}

func (s webhookSender) send(ctx context.Context, m message) error {
	to, signers, err := s.read(ctx)
	if err != nil {
		return &failure{detail: "the URL or a secret cannot be read"}
	}
	about := m.notification.Briefing
	body, err := json.Marshal(Event{
		Type: "wait." + string(m.notification.Kind), Timestamp: about.At.UTC(),
		Data: EventData{ID: m.notification.ID, WorkflowID: m.workflowID, URL: m.link, Text: m.text, Briefing: about},
	})
	if err != nil {
		return err
	}
	header, err := signed(signers, m.key, time.Now(), body)
	if err != nil {
		return err
	}
	return post(ctx, s.client, to, header, body)
}

// signed gives the three headers of the specification, with one signature for each secret.
func signed(signers []*standardwebhooks.Webhook, key string, now time.Time, body []byte) (http.Header, error) {
	var signatures []string
	for _, signer := range signers {
		signature, err := signer.Sign(key, now, body)
		if err != nil {
			return nil, err
		}
		signatures = append(signatures, signature)
	}
	header := http.Header{}
	header.Set(standardwebhooks.HeaderWebhookID, key)
	header.Set(standardwebhooks.HeaderWebhookTimestamp, strconv.FormatInt(now.Unix(), 10))
	header.Set(standardwebhooks.HeaderWebhookSignature, strings.Join(signatures, " "))
	return header, nil
}
