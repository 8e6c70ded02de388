package access

import (
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"time"

	"github.com/jobwait/jobwait/internal/yamlfile"
)

// File is how people sign in and what they may do, as it is written:
//
//	sign_in:
//	  oidc:
//	    issuer: https://login.example.com
//	    client_id: jobwait-inbox
//	    client_secret: {env: INBOX_CLIENT_SECRET}
//	rules:
//	  - groups: [exports-oncall]
//	    providers: [demo-export]
//	    accounts: [acct-42]
//	    answers: [extend, treat_as_pending, close]
//	  - people: [ana@example.com]
//	    answers: [any]
//	  - groups: [auditors]
//	    answers: []
type File struct {
	SignIn SignIn `yaml:"sign_in"`
	Rules  []Rule `yaml:"rules"`
}

// SignIn is one way of knowing people.
type SignIn struct {
	OIDC  *OIDCSettings  `yaml:"oidc"`
	Proxy *ProxySettings `yaml:"proxy"`
}

// ReadFile reads an access file strictly. Unknown fields and what cannot be meant are refused, with file and place.
func ReadFile(path string) (File, error) {
	var file File
	if err := yamlfile.Read("access", path, &file); err != nil {
		return File{}, err
	}
	if err := file.validate(); err != nil {
		return File{}, fmt.Errorf("access: %s: %w", path, err)
	}
	return file, nil
}

func (f File) validate() error {
	switch {
	case f.SignIn.OIDC == nil && f.SignIn.Proxy == nil:
		return errors.New("sign_in is missing: give oidc or proxy")
	case f.SignIn.OIDC != nil && f.SignIn.Proxy != nil:
		return errors.New("sign_in has both oidc and proxy: people are known in one way")
	}
	if err := f.SignIn.validate(); err != nil {
		return fmt.Errorf("sign_in: %w", err)
	}
	return Policy{Rules: f.Rules}.Validate()
}

func (s SignIn) validate() error {
	if s.OIDC != nil {
		return s.OIDC.validate()
	}
	return s.Proxy.validate()
}

// Policy is what the rules allow.
func (f File) Policy() Policy { return Policy{Rules: f.Rules} }

// Proxies are those that say whom a request comes from. Where a proxy signs people in, nothing depends on that.
func (f File) Proxies() Proxies {
	if f.SignIn.OIDC == nil {
		return nil
	}
	proxies, _ := readProxies(f.SignIn.OIDC.TrustedProxies) // the file was read
	return proxies
}

// Gate makes the gate of a file that was read from the path. Origin is where people reach the inbox.
func (f File) Gate(path string, origin *url.URL, logger *slog.Logger) (Gate, error) {
	if f.SignIn.Proxy != nil {
		return NewProxy(*f.SignIn.Proxy)
	}
	secret, err := f.clientSecret(path)
	if err != nil {
		return nil, fmt.Errorf("access: %s: sign_in: oidc: client_secret: %w", path, err)
	}
	return NewOIDC(*f.SignIn.OIDC, secret, origin, logger, time.Now)
}

// clientSecret is the secret of the client at the OpenID provider; empty if the file at path names none.
func (f File) clientSecret(path string) (string, error) {
	place := f.SignIn.OIDC.ClientSecret
	if place == nil {
		return "", nil
	}
	if err := place.Validate(); err != nil {
		return "", err
	}
	secret, err := place.Read(path)
	if err == nil && secret == "" {
		return "", fmt.Errorf("%s has no value", place)
	}
	return secret, err
}
