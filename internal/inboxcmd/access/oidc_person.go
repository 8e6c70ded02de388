package access

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"
)

// person reads who somebody is from what the provider says.
func (o *OIDC) person(ctx context.Context, identity *oidc.IDToken, token *oauth2.Token) (Person, error) {
	var claims map[string]json.RawMessage
	if err := identity.Claims(&claims); err != nil {
		return Person{}, fmt.Errorf("the ID token's claims: %w", err)
	}
	if claims[o.settings.GroupsClaim] == nil {
		if err := o.addUserInfo(ctx, identity.Subject, token, claims); err != nil {
			return Person{}, err
		}
	}
	name, err := text(claims, o.settings.NameClaim)
	if err != nil {
		return Person{}, err
	}
	if o.settings.NameClaim == claimEmail && string(claims["email_verified"]) != "true" {
		return Person{}, errors.New("the provider does not say that the e-mail address is verified; set name_claim to name people by another claim")
	}
	person := Person{Name: name}
	if person.Groups, err = groups(claims[o.settings.GroupsClaim]); err != nil {
		return Person{}, fmt.Errorf("claim %q: %w", o.settings.GroupsClaim, err)
	}
	return person, person.validate()
}

// addUserInfo adds what the ID token lacks and never replaces what it has: only the ID token is signed.
func (o *OIDC) addUserInfo(ctx context.Context, subject string, token *oauth2.Token, claims map[string]json.RawMessage) error {
	provider := o.provider.Load()
	if provider.UserInfoEndpoint() == "" {
		return nil
	}
	info, err := provider.UserInfo(ctx, oauth2.StaticTokenSource(token))
	if err != nil {
		return fmt.Errorf("userinfo: %w", err)
	}
	if info.Subject != subject {
		return errors.New("userinfo is about somebody else than the ID token")
	}
	var more map[string]json.RawMessage
	if err := info.Claims(&more); err != nil {
		return fmt.Errorf("userinfo: %w", err)
	}
	for name, value := range more {
		if _, ok := claims[name]; !ok {
			claims[name] = value
		}
	}
	return nil
}

func text(claims map[string]json.RawMessage, name string) (string, error) {
	var value string
	if claims[name] == nil {
		return "", fmt.Errorf("claim %q is missing; name_claim says which one names people", name)
	}
	if err := json.Unmarshal(claims[name], &value); err != nil {
		return "", fmt.Errorf("claim %q is not a text", name)
	}
	return value, nil
}

// groups are a list of texts, or one.
func groups(claim json.RawMessage) ([]string, error) {
	if claim == nil || string(claim) == "null" {
		return nil, nil
	}
	var one string
	if json.Unmarshal(claim, &one) == nil {
		return slices.DeleteFunc([]string{one}, func(s string) bool { return s == "" }), nil
	}
	var many []string
	if err := json.Unmarshal(claim, &many); err != nil {
		return nil, errors.New("neither a list of texts nor a text")
	}
	return many, nil
}
