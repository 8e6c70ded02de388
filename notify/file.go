package notify

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/jobwait/jobwait/activities"
	"github.com/jobwait/jobwait/internal/secretfile"
	"github.com/jobwait/jobwait/internal/yamlfile"
	"github.com/jobwait/jobwait/wire"
)

// Load reads options from a YAML file:
//
//	base_url: https://inbox.example.com
//	channels:
//	  oncall:
//	    slack: {url: {env: SLACK_WEBHOOK_URL}}      # or file: beside this file
//	    kinds: [escalated, reminded]                # absent: all
//	  pager:
//	    webhook: {url: {file: pager-url}, secrets: [{file: pager-secret}]}
//	    providers: [openai-batch]                   # absent: any
//	    accounts: [org-42]                          # absent: any
//	  approvers:
//	    mail:
//	      server: smtp.example.com:587
//	      from: jobwait@example.com
//	      to: [approvers@example.com]
//	      username: jobwait                         # absent: no sign-in
//	      password: {file: smtp-password}
//
// The file names secrets but contains none. Relative paths are relative to it. Unknown fields are errors.
func Load(path string) (Options, error) {
	var document fileDocument
	if err := yamlfile.Read("notify", path, &document); err != nil {
		return Options{}, err
	}
	options := Options{BaseURL: document.BaseURL}
	for _, name := range slices.Sorted(maps.Keys(document.Channels)) {
		channel, err := document.Channels[name].channel(path, name)
		if err != nil {
			return Options{}, fmt.Errorf("notify: channel %q: %w", name, err)
		}
		options.Channels = append(options.Channels, channel)
	}
	return options, options.Validate()
}

type fileDocument struct {
	BaseURL  string                 `yaml:"base_url"`
	Channels map[string]fileChannel `yaml:"channels"`
}

type fileChannel struct {
	Kinds     []wire.NotificationKind `yaml:"kinds"`
	Providers []string                `yaml:"providers"`
	Accounts  []string                `yaml:"accounts"`
	Slack     *fileSlack              `yaml:"slack"`
	Webhook   *fileWebhook            `yaml:"webhook"`
	Mail      *fileMail               `yaml:"mail"`
}

type fileSlack struct {
	URL       yamlfile.Place `yaml:"url"`
	AllowHTTP bool           `yaml:"allow_http"`
}

type fileWebhook struct {
	URL       yamlfile.Place   `yaml:"url"`
	Secrets   []yamlfile.Place `yaml:"secrets"`
	AllowHTTP bool             `yaml:"allow_http"`
}

type fileMail struct {
	Server   string          `yaml:"server"`
	TLS      TLS             `yaml:"tls"`
	From     string          `yaml:"from"`
	To       []string        `yaml:"to"`
	Username string          `yaml:"username"`
	Password *yamlfile.Place `yaml:"password"`
	Helo     string          `yaml:"helo"`
}

func (c fileChannel) channel(path, name string) (Channel, error) {
	channel := Channel{Name: name, Kinds: c.Kinds, Providers: c.Providers, Accounts: c.Accounts}
	var errs []error
	secret := func(what string, place yamlfile.Place) activities.SecretSource {
		if err := place.Validate(); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", what, err))
		}
		return secretfile.Source(path, place)
	}
	if c.Slack != nil {
		channel.Slack = &Slack{URL: secret("url", c.Slack.URL), AllowHTTP: c.Slack.AllowHTTP}
	}
	if c.Webhook != nil {
		channel.Webhook = &Webhook{URL: secret("url", c.Webhook.URL), AllowHTTP: c.Webhook.AllowHTTP}
		for i, place := range c.Webhook.Secrets {
			channel.Webhook.Secrets = append(channel.Webhook.Secrets, secret(fmt.Sprintf("secret %d", i+1), place))
		}
	}
	if m := c.Mail; m != nil {
		channel.Mail = &Mail{Server: m.Server, TLS: m.TLS, From: m.From, To: m.To, Username: m.Username, Helo: m.Helo}
		if m.Password != nil {
			channel.Mail.Password = secret("password", *m.Password)
		}
	}
	return channel, errors.Join(errs...)
}
