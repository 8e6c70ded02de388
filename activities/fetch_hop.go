package activities

import (
	"context"
	"net/http"
	"net/netip"
	"net/url"

	"github.com/jobwait/jobwait/statetables"
	"github.com/jobwait/jobwait/wire"
)

// hop is one request on the way to a result: the reference itself, or where a redirect leads.
type hop struct {
	request statetables.Request
	// at is the URL without what the credential may have added to it.
	at *url.URL
	// credential says that the request carries it.
	credential bool
	renewable  bool
}

// clearHop decides whether a URL may be asked, and whether with the credential, if it may have that. A result may lie anywhere in
// public, as a pre-signed link does, so other origins than the table's are allowed here; but they are asked by https, without
// the credential, and never in a private network (R51, R52).
func (a *Activities) clearHop(ctx context.Context, table *statetables.Table, spec wire.FetchSpec, address string, allowed allowance) (hop, error) {
	at, err := url.Parse(address)
	if err != nil || !at.IsAbs() {
		return hop{}, endFetch(wire.FetchReferenceRejected, "it is not an absolute URL")
	}
	at.Fragment, at.RawFragment = "", ""
	to, err := originOf(at)
	if err != nil {
		return hop{}, endFetch(wire.FetchReferenceRejected, "%s", err)
	}
	status, err := table.StatusRequest(spec.Target())
	if err != nil { // nothing of the provider's own is known then
		status = statetables.Request{}
	}
	own := to.among(status.Origins)
	next := hop{at: at, renewable: table.Renewable(spec.ResultName)}
	next.request = status
	next.request.Method, next.request.URL, next.request.Body = http.MethodGet, at.String(), nil
	next.request.Header = map[string]string{"Accept": "*/*"}
	next.request.AllowPrivateNetwork = own && status.AllowPrivateNetwork
	switch addr, err := netip.ParseAddr(to.host); {
	case to.scheme != "https" && !own:
		return hop{}, endFetch(wire.FetchReferenceRejected, "it is not https, nor at an origin of the provider's table")
	case err == nil && !next.request.AllowPrivateNetwork && !publicAddr(addr):
		return hop{}, endFetch(wire.FetchReferenceRejected, "%s", &addressError{})
	}
	if allowed == nil {
		return next, nil
	}
	return next, a.authorizeHop(ctx, spec, to, &next, allowed)
}

// authorizeHop adds the credential where its own entry lists the origin.
func (a *Activities) authorizeHop(ctx context.Context, spec wire.FetchSpec, to origin, next *hop, allowed allowance) error {
	if spec.CredentialRef == "" || !next.request.Auth.Needed() {
		return nil
	}
	credential, err := a.credentials.Credential(ctx, spec.CredentialRef)
	if err != nil {
		return endFetch(wire.FetchDenied, "%s", withoutURL(err))
	}
	if err := credential.allows(spec.CredentialRef, spec.Provider, spec.Account); err != nil {
		return endFetch(wire.FetchDenied, "%s", err)
	}
	if !credential.at(to) {
		return nil
	}
	if err := allowed(credential, next.at); err != nil {
		return err
	}
	chosen, err := next.request.Choose(credential.Scheme)
	if err != nil {
		return endFetch(wire.FetchDenied, "credential %q: %s", spec.CredentialRef, err)
	}
	secret, err := credential.Read(ctx)
	if err != nil {
		return endFetch(wire.FetchDenied, "%s", withoutURL(err))
	}
	next.request, next.credential = chosen.Authorize(secret.Reveal()), true
	return nil
}
