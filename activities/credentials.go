package activities

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/jobwait/jobwait/statetables"
	"github.com/jobwait/jobwait/wire"
)

// ErrUnknownCredential reports that a source has no entry of that name.
var ErrUnknownCredential = errors.New("unknown credential")

// CredentialSource resolves the names in credential_ref. It is asked for every request (R50), so that rotating a credential needs
// no restart. Its errors are kept in history and in logs: they must name the entry and the rule that it breaks, never a value.
type CredentialSource interface {
	// Credential returns the entry of that name. The error wraps ErrUnknownCredential if there is none.
	Credential(ctx context.Context, name string) (Credential, error)
}

// Credential is one named entry: what it may be used for and how its value is read.
type Credential struct {
	// Version distinguishes a rotated credential from the one before: a version that a provider has refused is not sent again
	// (R9). Required.
	Version string
	// Origins are the origins (https://api.example.com, a port where it is not the scheme's) that the value may be sent
	// to. At least one: whoever writes a spec chooses parts of the URL, and must not choose who gets the key.
	Origins []string
	// Providers and Accounts restrict which waits may use it. Empty means any.
	Providers []string
	Accounts  []string
	// Fetch are URL prefixes, such as https://api.example.com/v1/files/, below which FetchResult may use the credential for URLs that
	// no outcome of a wait names. Each is absolute, at one of Origins, and ends in "/". Empty means none.
	Fetch []string
	// Scheme selects one of the ways in which the table accepts credentials: bearer, basic, header or query. Empty means the table's
	// first.
	Scheme string
	// Approval says when a person must approve the use of the credential for status requests: wire.ApprovalPerOperation once, before
	// the first request of a wait, or wire.ApprovalPerRequest before each. Empty or wire.ApprovalNone means never. A wait keeps the
	// rule that it began under.
	Approval wire.ApprovalRule
	// Read returns the present value. Required.
	Read SecretSource
}

// Validate reports the first rule that the entry breaks.
func (c Credential) Validate() error {
	switch {
	case c.Version == "":
		return errors.New("version is missing: a word that changes whenever the value does")
	case len(c.Origins) == 0:
		return errors.New("origins is missing: list where the value may be sent, such as https://api.example.com")
	case c.Read == nil:
		return errors.New("nothing says where the value is")
	case c.Scheme != "" && !slices.Contains(statetables.AuthSchemes(), c.Scheme):
		return fmt.Errorf("scheme is not one of %s", strings.Join(statetables.AuthSchemes(), ", "))
	case !slices.Contains(approvalRules, c.approval()):
		return fmt.Errorf("approval %q is not one of none, per_operation, per_request", c.Approval)
	}
	for _, text := range c.Origins {
		if _, err := parseOrigin(text); err != nil {
			return err
		}
	}
	for _, text := range c.Fetch {
		if err := c.checkFetch(text); err != nil {
			return err
		}
	}
	return nil
}

var approvalRules = []wire.ApprovalRule{wire.ApprovalNone, wire.ApprovalPerOperation, wire.ApprovalPerRequest}

// approval is the rule in the one form in which waits record it.
func (c Credential) approval() wire.ApprovalRule { return cmp.Or(c.Approval, wire.ApprovalNone) }

// allows reports whether the entry may be used for this provider and account.
func (c Credential) allows(ref, provider, account string) error {
	if len(c.Providers) > 0 && !slices.Contains(c.Providers, provider) {
		return fmt.Errorf("credential %q is not for provider %q: its entry lists %q", ref, provider, c.Providers)
	}
	if len(c.Accounts) > 0 && !slices.Contains(c.Accounts, account) {
		return fmt.Errorf("credential %q is not for account %q: its entry lists %d other accounts", ref, account, len(c.Accounts))
	}
	return nil
}

// reaches reports whether the value may be sent to the origin (R51).
func (c Credential) reaches(ref string, to origin) error {
	if c.at(to) {
		return nil
	}
	return fmt.Errorf("credential %q may not be sent to the origin of this request: its entry lists %q", ref, c.Origins)
}

// at reports whether the entry lists the origin.
func (c Credential) at(to origin) bool { return to.among(c.Origins) }

// noCredentials is the source of a worker that was given none.
type noCredentials struct{}

func (noCredentials) Credential(_ context.Context, name string) (Credential, error) {
	return Credential{}, fmt.Errorf("credentials: %w %q: the worker was started without credentials", ErrUnknownCredential, name)
}
