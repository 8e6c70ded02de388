package notify

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"unicode"
)

func (s Slack) validate() error {
	if s.URL == nil {
		return errors.New("url is missing: the incoming webhook's")
	}
	return nil
}

// slackSender posts to an incoming webhook.
type slackSender struct {
	client *http.Client
	config Slack
}

func (s slackSender) check(ctx context.Context) error {
	_, err := readURL(ctx, s.config.URL, s.config.AllowHTTP)
	return err
}

func (s slackSender) send(ctx context.Context, m message) error {
	to, err := readURL(ctx, s.config.URL, s.config.AllowHTTP)
	if err != nil {
		return &failure{detail: "the URL cannot be read"}
	}
	body, err := json.Marshal(slackBody{Text: slackText(m)})
	if err != nil {
		return err
	}
	header := http.Header{}
	header.Set("Idempotency-Key", m.key) // Slack itself has no use for it; a relay in between may
	return post(ctx, s.client, to, header, body)
}

// slackBody asks for no preview of links: nobody but the reader should open them.
type slackBody struct {
	Text        string `json:"text"`
	UnfurlLinks bool   `json:"unfurl_links"`
	UnfurlMedia bool   `json:"unfurl_media"`
}

// slackText puts the headline first, then the link, then all of it as it stands: nothing in a code block is a mention, a link or
// a format.
func slackText(m message) string {
	var text strings.Builder
	text.WriteString("*" + slackEscape(plainSubject(m.subject())) + "*\n")
	if m.link != "" {
		text.WriteString(m.link + "\n")
	}
	text.WriteString("```\n" + slackEscape(strings.ReplaceAll(m.text, "```", "'''")) + "\n```")
	return text.String()
}

// slackEscape writes the three characters that Slack's own commands, such as <!channel>, are made of.
func slackEscape(text string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(text)
}

// plainSubject is a subject in which nobody who is quoted writes a code block, a format, a link or a mention, to Slack or to
// programs that read more of Markdown than it does.
func plainSubject(subject string) string {
	plain := strings.NewReplacer("`", "'", "*", "", "~", "", "\\", "/", "[", "(", "]", ")", "://", ":\u2060//").Replace(subject)
	return withoutMentions(withoutLooseUnderscores(plain))
}

// withoutLooseUnderscores leaves those within a word, as in unknown_state: nothing reads them as a format.
func withoutLooseUnderscores(text string) string {
	runes := []rune(text)
	within := func(i int) bool {
		return i >= 0 && i < len(runes) && (unicode.IsLetter(runes[i]) || unicode.IsDigit(runes[i]))
	}
	var out strings.Builder
	for i, r := range runes {
		if r != '_' || within(i-1) && within(i+1) {
			out.WriteRune(r)
		}
	}
	return out.String()
}

// withoutMentions keeps a name behind an @, which other programs than Slack notify people by, from being one.
func withoutMentions(text string) string { return strings.ReplaceAll(text, "@", "@\u2060") }
