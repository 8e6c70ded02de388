package access

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
)

// ProxySettings let a proxy in front of the inbox say who people are. The proxy has to sign people in, and to take the two
// headers out of what people send.
type ProxySettings struct {
	// Addresses are those of the proxy, as addresses or networks in CIDR form. Headers from elsewhere are not believed.
	Addresses []string `yaml:"addresses"`
	// NameHeader has the name of the person, such as X-Forwarded-Email. Required.
	NameHeader string `yaml:"name_header"`
	// GroupsHeader has their groups with commas between. Empty: nobody has groups.
	GroupsHeader string `yaml:"groups_header"`
	// SignOutURL is where the proxy signs people out. Empty: the page does not offer it.
	SignOutURL string `yaml:"sign_out_url"`
}

func (s ProxySettings) validate() error {
	_, err := NewProxy(s)
	return err
}

// Proxy is the gate behind a proxy that signs people in.
type Proxy struct {
	settings ProxySettings
	from     Proxies
}

// NewProxy believes the headers of a proxy.
func NewProxy(s ProxySettings) (*Proxy, error) {
	p := &Proxy{settings: s}
	switch {
	case len(s.Addresses) == 0:
		return nil, errors.New("proxy: addresses is missing: list those that the proxy connects from")
	case s.NameHeader == "":
		return nil, errors.New("proxy: name_header is missing: name the header that has the person, such as X-Forwarded-Email")
	case s.SignOutURL != "" && safeURL(s.SignOutURL) == nil:
		return nil, fmt.Errorf("proxy: sign_out_url %q is neither a path nor an https address", s.SignOutURL)
	}
	var err error
	if p.from, err = readProxies(s.Addresses); err != nil {
		return nil, fmt.Errorf("proxy: addresses: %w", err)
	}
	return p, nil
}

// Mode implements Gate.
func (*Proxy) Mode() Mode { return ModeProxy }

// SignOut implements Gate.
func (p *Proxy) SignOut() string { return p.settings.SignOutURL }

// Over implements Gate: signing out is between a person and the proxy.
func (*Proxy) Over(*http.Request) <-chan struct{} { return nil }

// Mount implements Gate: the proxy signs in and out.
func (*Proxy) Mount(*http.ServeMux, Teller) {}

// Identify implements Gate.
func (p *Proxy) Identify(r *http.Request) (Person, error) {
	if !p.from.trust(addressOf(r.RemoteAddr)) {
		return Person{}, &NobodyError{Because: "This request did not come by way of the proxy that signs people in."}
	}
	names := r.Header.Values(p.settings.NameHeader)
	if len(names) != 1 {
		return Person{}, &NobodyError{Because: "The proxy does not say who you are, or says it twice."}
	}
	person := Person{Name: strings.TrimSpace(names[0])}
	if p.settings.GroupsHeader != "" {
		groups := r.Header.Values(p.settings.GroupsHeader)
		if len(groups) > 1 {
			return Person{}, &NobodyError{Because: "The proxy says twice which groups you are in."}
		}
		person.Groups = groupsOf(groups)
	}
	if err := person.validate(); err != nil {
		return Person{}, &NobodyError{Because: "The proxy says who you are in a way that cannot be used: " + err.Error() + "."}
	}
	return person, nil
}

func groupsOf(values []string) []string {
	var groups []string
	for _, value := range values {
		for group := range strings.SplitSeq(value, ",") {
			if group = strings.TrimSpace(group); group != "" {
				groups = append(groups, group)
			}
		}
	}
	return groups
}
