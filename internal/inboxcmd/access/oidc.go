package access

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"
	"golang.org/x/sync/semaphore"

	"github.com/jobwait/jobwait/internal/yamlfile"
)

const (
	// attemptLife is how long a person may take to sign in.
	attemptLife = 10 * time.Minute
	// providerTimeout and maxProviderBytes bound a request to the OpenID provider and its answer.
	providerTimeout  = 10 * time.Second
	maxProviderBytes = 1 << 20
	// patience is how long a request waits while the provider is asked for its addresses on behalf of another.
	patience = 2 * time.Second
	// maxClaim bounds what is taken from an address.
	maxClaim = 4096
)

// OIDCSettings let an OpenID Connect provider say who people are.
type OIDCSettings struct {
	// Issuer is the provider, as it names itself: an https address; http on loopback alone. Required.
	Issuer string `yaml:"issuer"`
	// ClientID is the inbox as the provider knows it. Required. Its redirect address there is the public URL followed by
	// /auth/callback.
	ClientID string `yaml:"client_id"`
	// ClientSecret is where its secret is. Absent: a public client, which proves by PKCE alone that it began the sign-in.
	ClientSecret *yamlfile.Place `yaml:"client_secret"`
	// NameClaim is the claim that names people in decisions. Default "email", which then has to be verified.
	NameClaim string `yaml:"name_claim"`
	// GroupsClaim is the claim with their groups. Default "groups". Where the ID token lacks it, the provider's userinfo is
	// asked.
	GroupsClaim string `yaml:"groups_claim"`
	// Scopes are asked for beside openid. Default: email, profile, groups.
	Scopes *[]string `yaml:"scopes"`
	// SessionHours is after how long people have to sign in again, 1 to 24. Default 8.
	SessionHours *int `yaml:"session_hours"`
	// TrustedProxies are the reverse proxies in front of the inbox, as addresses or networks in CIDR form. What comes from one counts
	// as sent by the client that its X-Forwarded-For names; nobody else's is looked at. Default: none.
	TrustedProxies []string `yaml:"trusted_proxies"`
}

const (
	defaultSessionHours = 8
	mostSessionHours    = 24
	claimEmail          = "email"
)

func (s OIDCSettings) validate() error {
	issuer, err := url.Parse(s.Issuer)
	switch {
	case s.Issuer == "":
		return errors.New("oidc: issuer is missing")
	case err != nil || issuer.Host == "" || issuer.RawQuery != "" || issuer.User != nil || !secureURL(issuer):
		return fmt.Errorf("oidc: issuer %q is not an https address", s.Issuer)
	case s.ClientID == "":
		return errors.New("oidc: client_id is missing")
	case s.SessionHours != nil && (*s.SessionHours < 1 || *s.SessionHours > mostSessionHours):
		return fmt.Errorf("oidc: session_hours is %d, allowed is 1 to %d", *s.SessionHours, mostSessionHours)
	}
	if _, err := readProxies(s.TrustedProxies); err != nil {
		return fmt.Errorf("oidc: trusted_proxies: %w", err)
	}
	return nil
}

func (s OIDCSettings) life() time.Duration {
	if s.SessionHours != nil {
		return time.Duration(*s.SessionHours) * time.Hour
	}
	return defaultSessionHours * time.Hour
}

func (s OIDCSettings) scopes() []string {
	more := []string{"email", "profile", "groups"}
	if s.Scopes != nil {
		more = *s.Scopes
	}
	return append([]string{oidc.ScopeOpenID}, more...)
}

// OIDC is the gate of an OpenID Connect provider: the authorization code flow with state, nonce and PKCE.
type OIDC struct {
	settings OIDCSettings
	secret   string
	origin   *url.URL
	logger   *slog.Logger
	now      func() time.Time

	sessions *sessions
	sealer   sealer
	client   *http.Client
	limit    *callbackLimit
	tell     Teller

	asking   *semaphore.Weighted           // who asks the provider for its addresses: one at a time
	provider atomic.Pointer[oidc.Provider] // nil until it has answered once
}

// NewOIDC makes the gate of people who reach the inbox at an origin. The provider is asked for its addresses when somebody
// first signs in, and again while it does not answer.
func NewOIDC(s OIDCSettings, secret string, origin *url.URL, logger *slog.Logger, now func() time.Time) (*OIDC, error) {
	if err := s.validate(); err != nil {
		return nil, err
	}
	if s.NameClaim == "" {
		s.NameClaim = claimEmail
	}
	if s.GroupsClaim == "" {
		s.GroupsClaim = "groups"
	}
	sealer, err := newSealer()
	if err != nil {
		return nil, err
	}
	return &OIDC{
		settings: s, secret: secret, origin: origin, logger: logger, now: now, sealer: sealer,
		sessions: newSessions(s.life(), now), limit: newCallbackLimit(), asking: semaphore.NewWeighted(1),
		client: &http.Client{Timeout: providerTimeout, Transport: boundedTransport{http.DefaultTransport}},
	}, nil
}

// boundedTransport reads no more of an answer than a provider has to say.
type boundedTransport struct{ next http.RoundTripper }

func (t boundedTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := t.next.RoundTrip(r)
	if err == nil {
		answer.Body = struct {
			io.Reader
			io.Closer
		}{io.LimitReader(answer.Body, maxProviderBytes), answer.Body}
	}
	return answer, err
}

// Mode implements Gate.
func (*OIDC) Mode() Mode { return ModeOIDC }

// SignOut implements Gate.
func (*OIDC) SignOut() string { return PathSignOut }

// Identify implements Gate.
func (o *OIDC) Identify(r *http.Request) (Person, error) {
	cookie, err := r.Cookie(o.cookie(cookieSession))
	if err == nil {
		if person, ok := o.sessions.of(cookie.Value); ok {
			return person, nil
		}
	}
	return Person{}, &NobodyError{Because: "You are not signed in, or were signed in too long ago.", SignIn: PathSignIn}
}

// Over implements Gate.
func (o *OIDC) Over(r *http.Request) <-chan struct{} {
	cookie, err := r.Cookie(o.cookie(cookieSession))
	if err != nil {
		return nil
	}
	return o.sessions.over(cookie.Value)
}

// Mount implements Gate.
func (o *OIDC) Mount(mux *http.ServeMux, tell Teller) {
	o.tell = tell
	mux.HandleFunc("GET "+PathSignIn, o.signIn)
	mux.HandleFunc("GET "+PathCallback, o.callback)
	mux.HandleFunc("POST "+PathSignOut, o.signOut)
}

// The cookies. Over https their names bind them to this host and to encrypted connections.
const (
	cookieSession = "jobwait-session"
	cookieAttempt = "jobwait-sign-in"
)

func (o *OIDC) cookie(name string) string {
	if o.origin.Scheme == "https" {
		return "__Host-" + name
	}
	return name
}

func (o *OIDC) setCookie(w http.ResponseWriter, name, value string, life time.Duration) {
	http.SetCookie(w, &http.Cookie{
		Name: o.cookie(name), Value: value, Path: "/", MaxAge: int(life.Seconds()), Secure: o.origin.Scheme == "https",
		// Lax, not Strict: people come from links in messages, and back from the provider.
		HttpOnly: true, SameSite: http.SameSiteLaxMode,
	})
}

func (o *OIDC) dropCookie(w http.ResponseWriter, name string) { o.setCookie(w, name, "", -time.Second) }

// attempt is a sign-in that has begun. The browser carries it, sealed.
type attempt struct {
	State    string    `json:"state"`
	Nonce    string    `json:"nonce"`
	Verifier string    `json:"verifier"`
	To       string    `json:"to"`
	Ends     time.Time `json:"ends"`
}

// signIn sends a person to the provider.
func (o *OIDC) signIn(w http.ResponseWriter, r *http.Request) {
	config, err := o.config(r.Context())
	if err != nil {
		o.refuse(w, r, http.StatusBadGateway, "The sign-in service does not answer. Try again shortly.", err)
		return
	}
	begun := attempt{
		State: rand.Text(), Nonce: rand.Text(), Verifier: oauth2.GenerateVerifier(), To: localPath(r.URL.Query().Get("to")), Ends: o.now().Add(attemptLife),
	}
	sealed, err := o.sealer.seal(begun, cookieAttempt)
	if err != nil {
		o.refuse(w, r, http.StatusInternalServerError, "Signing in is not possible.", err)
		return
	}
	o.setCookie(w, cookieAttempt, sealed, attemptLife)
	http.Redirect(w, r, config.AuthCodeURL(begun.State, oidc.Nonce(begun.Nonce), oauth2.S256ChallengeOption(begun.Verifier)), http.StatusSeeOther)
}

// config asks the provider for its addresses until it has told them.
func (o *OIDC) config(ctx context.Context) (*oauth2.Config, error) {
	provider, err := o.discovered(ctx)
	if err != nil {
		return nil, err
	}
	return &oauth2.Config{
		ClientID: o.settings.ClientID, ClientSecret: o.secret, Endpoint: provider.Endpoint(),
		RedirectURL: o.origin.JoinPath(PathCallback).String(), Scopes: o.settings.scopes(),
	}, nil
}

// errAsking is that of a request that has waited long enough for another's.
var errAsking = errors.New("the provider does not answer another request that asks it for its addresses")

// discovered asks at most once at a time: requests that anybody may send do not pile up behind a provider that is away.
func (o *OIDC) discovered(ctx context.Context) (*oidc.Provider, error) {
	if known := o.provider.Load(); known != nil {
		return known, nil
	}
	waiting, stop := context.WithTimeoutCause(ctx, patience, errAsking)
	defer stop()
	if o.asking.Acquire(waiting, 1) != nil {
		return nil, context.Cause(waiting)
	}
	defer o.asking.Release(1)
	if known := o.provider.Load(); known != nil {
		return known, nil
	}
	// The provider keeps the context for its keys: it outlives the request.
	provider, err := oidc.NewProvider(oidc.ClientContext(context.WithoutCancel(ctx), o.client), o.settings.Issuer)
	if err != nil {
		return nil, err
	}
	o.provider.Store(provider)
	return provider, nil
}

// Check asks the provider for its addresses, so that a wrong issuer shows when the inbox starts.
func (o *OIDC) Check(ctx context.Context) error {
	_, err := o.discovered(ctx)
	return err
}

// localPath is where to go after signing in: a page of the inbox, whatever an address says.
func localPath(to string) string {
	target, err := url.Parse(to)
	if err != nil || len(to) > maxClaim || target.Scheme != "" || target.Host != "" || target.User != nil ||
		!strings.HasPrefix(to, "/") || strings.HasPrefix(to, "//") || strings.ContainsAny(to, "\\\r\n\t") || strings.HasPrefix(to, "/auth/") {
		return "/"
	}
	return to
}

// callback takes what the provider sent a person back with.
func (o *OIDC) callback(w http.ResponseWriter, r *http.Request) {
	begun, err := o.begun(r)
	code := r.URL.Query().Get("code")
	o.dropCookie(w, cookieAttempt)
	switch {
	case err != nil:
		o.refuse(w, r, http.StatusForbidden, "This sign-in was not begun here, or is too old.", err)
		return
	case r.URL.Query().Get("error") != "":
		o.refuse(w, r, http.StatusForbidden, "The sign-in service did not sign you in.", fmt.Errorf("the provider answered %.200q", r.URL.Query().Get("error")))
		return
	case code == "" || len(code) > maxClaim:
		o.refuse(w, r, http.StatusForbidden, "You could not be signed in.", errors.New("code is missing or too long"))
		return
	case !o.limit.allow(r.RemoteAddr, o.now()):
		o.refuse(w, r, http.StatusTooManyRequests, "Too many people are signing in. Try again in a moment.", errors.New("too many sign-ins"))
		return
	}
	person, err := o.exchange(r.Context(), code, begun)
	if err != nil {
		o.refuse(w, r, http.StatusForbidden, "You could not be signed in.", err)
		return
	}
	token := o.sessions.begin(person)
	o.setCookie(w, cookieSession, token, o.settings.life())
	o.logger.InfoContext(r.Context(), "signed in", "person", person.Name, "groups", person.Groups, "remote", r.RemoteAddr)
	http.Redirect(w, r, begun.To, http.StatusSeeOther)
}

// begun is the attempt that an answer of the provider belongs to.
func (o *OIDC) begun(r *http.Request) (attempt, error) {
	cookie, err := r.Cookie(o.cookie(cookieAttempt))
	if err != nil {
		return attempt{}, errors.New("the browser carries no sign-in that has begun")
	}
	var begun attempt
	if err := o.sealer.open(cookie.Value, cookieAttempt, &begun); err != nil {
		return attempt{}, err
	}
	query := r.URL.Query()
	switch {
	case !o.now().Before(begun.Ends):
		return attempt{}, errors.New("the sign-in began too long ago")
	case subtle.ConstantTimeCompare([]byte(query.Get("state")), []byte(begun.State)) != 1:
		return attempt{}, errors.New("state is not the one that was sent")
	case query.Get("iss") != "" && query.Get("iss") != o.settings.Issuer: // RFC 9207
		return attempt{}, errors.New("iss is not the issuer")
	default:
		return begun, nil
	}
}

// exchange turns a code into who the person is.
func (o *OIDC) exchange(ctx context.Context, code string, begun attempt) (Person, error) {
	ctx = oidc.ClientContext(ctx, o.client)
	config, err := o.config(ctx)
	if err != nil {
		return Person{}, err
	}
	token, err := config.Exchange(ctx, code, oauth2.VerifierOption(begun.Verifier))
	if err != nil {
		return Person{}, exchangeError(err)
	}
	raw, ok := token.Extra("id_token").(string)
	if !ok {
		return Person{}, errors.New("the provider gave no ID token")
	}
	identity, err := o.provider.Load().Verifier(&oidc.Config{ClientID: o.settings.ClientID, Now: o.now}).Verify(ctx, raw)
	if err != nil {
		return Person{}, fmt.Errorf("the ID token does not hold: %w", err)
	}
	if subtle.ConstantTimeCompare([]byte(identity.Nonce), []byte(begun.Nonce)) != 1 {
		return Person{}, errors.New("nonce is not the one that was sent")
	}
	return o.person(ctx, identity, token)
}

// exchangeError keeps the provider's answer, which may repeat what was sent, out of the log.
func exchangeError(err error) error {
	var refused *oauth2.RetrieveError
	if errors.As(err, &refused) {
		status := 0
		if refused.Response != nil {
			status = refused.Response.StatusCode
		}
		return fmt.Errorf("the provider refused the code: %d %.200q", status, refused.ErrorCode)
	}
	return err
}

func (o *OIDC) refuse(w http.ResponseWriter, r *http.Request, status int, text string, err error) {
	o.logger.WarnContext(r.Context(), "refused a sign-in", "because", err, "remote", r.RemoteAddr)
	o.tell(w, r, status, Said{Title: "Not signed in", Text: text, Links: []Link{{"Sign in again", "/"}}})
}

// signOut ends the session here; that of the provider is the provider's to end.
func (o *OIDC) signOut(w http.ResponseWriter, r *http.Request) {
	if cookie, err := r.Cookie(o.cookie(cookieSession)); err == nil {
		person, _ := o.sessions.of(cookie.Value)
		o.sessions.end(cookie.Value)
		o.logger.InfoContext(r.Context(), "signed out", "person", person.Name, "remote", r.RemoteAddr)
	}
	o.dropCookie(w, cookieSession)
	said := Said{
		Title: "Signed out", Text: "You are signed out of the inbox. The sign-in service may still know you.",
		Links: []Link{{"Sign in again", "/"}},
	}
	if end := o.endSession(); end != "" {
		said.Links = append(said.Links, Link{"Sign out of the sign-in service, too", end})
	}
	o.tell(w, r, http.StatusOK, said)
}

// endSession is where the provider signs people out, if it says so.
func (o *OIDC) endSession() string {
	var told struct {
		End string `json:"end_session_endpoint"`
	}
	if known := o.provider.Load(); known == nil || known.Claims(&told) != nil {
		return ""
	}
	end := safeURL(told.End)
	if end == nil || end.Host == "" {
		return ""
	}
	query := end.Query()
	query.Set("client_id", o.settings.ClientID)
	end.RawQuery = query.Encode()
	return end.String()
}
