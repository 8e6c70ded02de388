package browsertest_test

import (
	"bufio"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/oauth2-proxy/mockoidc"
	"github.com/stretchr/testify/require"

	"github.com/jobwait/jobwait/internal/inboxcmd/access"
	"github.com/jobwait/jobwait/internal/inboxcmd/inboxtest"
	"github.com/jobwait/jobwait/waittest"
)

// signIn is an inbox behind an OpenID provider that runs.
type signIn struct {
	*inboxtest.Inbox
	provider *mockoidc.MockOIDC

	mu    sync.Mutex
	ahead time.Duration
	// meddle changes requests on their way to the provider.
	meddle func(*http.Request)
}

func (s *signIn) now() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return time.Now().Add(s.ahead)
}

func (s *signIn) later(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ahead += d
}

func (s *signIn) interfere(with func(*http.Request)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.meddle = with
}

func (s *signIn) middle(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		meddle := s.meddle
		s.mu.Unlock()
		if meddle != nil {
			meddle(r)
		}
		next.ServeHTTP(w, r)
	})
}

var oncall = access.Policy{Rules: []access.Rule{{Groups: []string{"oncall"}, Answers: &[]string{"any"}}}}

func withOIDC(t *testing.T, change ...func(*access.OIDCSettings)) *signIn {
	t.Helper()
	s := &signIn{}
	var err error
	s.provider, err = mockoidc.NewServer(nil)
	require.NoError(t, err)
	require.NoError(t, s.provider.AddMiddleware(s.middle))
	listener, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // for the length of the test
	require.NoError(t, err)
	require.NoError(t, s.provider.Start(listener, nil))
	t.Cleanup(func() { _ = s.provider.Shutdown() })
	settings := access.OIDCSettings{Issuer: s.provider.Issuer(), ClientID: s.provider.ClientID}
	for _, with := range change {
		with(&settings)
	}
	s.Inbox = inboxtest.Open(t, shared, func(origin *url.URL, logger *slog.Logger) (access.Gate, error) {
		return access.NewOIDC(settings, s.provider.ClientSecret, origin, logger, s.now)
	}, oncall)
	return s
}

func (s *signIn) next(name string, groups ...string) {
	s.provider.QueueUser(&mockoidc.MockUser{Subject: "sub-" + name, Email: name + "@example.com", EmailVerified: true, PreferredUsername: name, Groups: groups})
}

// agent is a browser that keeps cookies and follows redirects.
func agent(t *testing.T) *http.Client {
	t.Helper()
	jar, err := cookiejar.New(nil)
	require.NoError(t, err)
	return &http.Client{Jar: jar}
}

type response struct {
	status  int
	address *url.URL
	text    string
	header  http.Header
}

func get(t *testing.T, client *http.Client, address string) response {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
	require.NoError(t, err)
	return fetch(t, client, request)
}

func fetch(t *testing.T, client *http.Client, request *http.Request) response {
	t.Helper()
	answer, err := client.Do(request)
	require.NoError(t, err)
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	return response{answer.StatusCode, answer.Request.URL, string(text), answer.Header}
}

func post(t *testing.T, client *http.Client, origin, path string, form url.Values) response {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, origin+path, strings.NewReader(form.Encode()))
	require.NoError(t, err)
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	request.Header.Set("Origin", origin)
	return fetch(t, client, request)
}

// A person comes from a link, signs in, lands on the page of the link, answers it in the name of the provider, and signs
// out, after which the cookie is worth nothing.
func TestSignInAnswerSignOut(t *testing.T) {
	t.Parallel()
	s := withOIDC(t)
	id, _ := inboxtest.Asked(t, shared, "signed-in", waittest.Script(waittest.State("archiving")))
	s.next("ana", "oncall")
	ana := agent(t)
	page := get(t, ana, s.Page(id))
	require.Equal(t, http.StatusOK, page.status, page.text)
	require.Equal(t, s.Page(id), page.address.String())
	require.Contains(t, page.text, "<span>ana@example.com</span>")

	about := regexp.MustCompile(`name="about" value="([^"]+)"`).FindStringSubmatch(page.text)
	require.NotNil(t, about)
	path := strings.TrimPrefix(s.Page(id), s.URL)
	page = post(t, ana, s.URL, path, url.Values{"about": {about[1]}, "kind": {"close"}, "comment": {"no longer wanted"}, "decided_by": {"mallory@example.com"}})
	require.Contains(t, page.text, "The answer was applied")
	outcome, err := shared.Outcome(t.Context(), shared.Client.GetWorkflow(t.Context(), id, ""))
	require.NoError(t, err)
	require.Equal(t, "ana@example.com", outcome.DecidedBy)

	cookies := ana.Jar.Cookies(&url.URL{Scheme: "http", Host: strings.TrimPrefix(s.URL, "http://"), Path: "/"})
	require.Len(t, cookies, 1, "that of the sign-in is gone")
	out := post(t, ana, s.URL, access.PathSignOut, nil)
	require.Equal(t, http.StatusOK, out.status)
	require.Contains(t, out.text, "You are signed out of the inbox.")
	again := agent(t)
	again.Jar.SetCookies(&url.URL{Scheme: "http", Host: strings.TrimPrefix(s.URL, "http://"), Path: "/"}, cookies)
	again.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	require.Equal(t, http.StatusSeeOther, get(t, again, s.Page(id)).status, "a cookie that somebody kept")
	require.Contains(t, s.Log.String(), `msg="signed in" person=ana@example.com groups=[oncall]`)
	require.Contains(t, s.Log.String(), `msg="signed out" person=ana@example.com`)
	require.NotContains(t, s.Log.String(), s.provider.ClientSecret)
	require.NotContains(t, s.Log.String(), cookies[0].Value)
}

// A stream that is open when its person signs out ends there and then.
func TestSignOutEndsStreams(t *testing.T) {
	t.Parallel()
	s := withOIDC(t)
	s.next("ana", "oncall")
	ana := agent(t)
	require.Equal(t, http.StatusOK, get(t, ana, s.URL+"/closed").status)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL+"/live/list/closed?provider=none", nil)
	require.NoError(t, err)
	stream, err := ana.Do(request)
	require.NoError(t, err)
	defer stream.Body.Close()
	lines := bufio.NewScanner(stream.Body)
	for lines.Scan() && !strings.HasPrefix(lines.Text(), "data: ") { // the first version
	}
	require.Equal(t, http.StatusOK, post(t, ana, s.URL, access.PathSignOut, nil).status)
	var last []string
	for lines.Scan() {
		last = append(last, lines.Text())
	}
	require.Equal(t, []string{"", "event: signed-out", "data: .", ""}, last, "no heartbeat comes before it")
}

// Cookies cannot be read by scripts, go to no other site, and over https to no other host.
func TestCookies(t *testing.T) {
	t.Parallel()
	s := withOIDC(t)
	ana := agent(t)
	ana.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	begun := get(t, ana, s.URL+access.PathSignIn+"?to=/closed")
	require.Regexp(t, `^jobwait-sign-in=[\w-]+; Path=/; Max-Age=600; HttpOnly; SameSite=Lax$`, begun.header.Get("Set-Cookie"))
	location, err := url.Parse(begun.header.Get("Location"))
	require.NoError(t, err)
	query := location.Query()
	require.Equal(t, "S256", query.Get("code_challenge_method"))
	require.NotEmpty(t, query.Get("code_challenge"))
	require.GreaterOrEqual(t, len(query.Get("state")), 26)
	require.GreaterOrEqual(t, len(query.Get("nonce")), 26)
	require.Equal(t, "openid email profile groups", query.Get("scope"))
	require.Equal(t, s.URL+"/auth/callback", query.Get("redirect_uri"))

	secure, err := access.NewOIDC(access.OIDCSettings{Issuer: s.provider.Issuer(), ClientID: "x"}, "", &url.URL{Scheme: "https", Host: "inbox.example.com"}, slog.New(slog.DiscardHandler), time.Now)
	require.NoError(t, err)
	mux := http.NewServeMux()
	secure.Mount(mux, nil)
	w := httptest.NewRecorder()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, access.PathSignIn, nil)
	require.NoError(t, err)
	mux.ServeHTTP(w, request)
	require.Regexp(t, `^__Host-jobwait-sign-in=[\w-]+; Path=/; Max-Age=600; HttpOnly; Secure; SameSite=Lax$`, w.Header().Get("Set-Cookie"))
}

// A session ends, and so does a sign-in that takes too long.
func TestSessionsExpire(t *testing.T) {
	t.Parallel()
	s := withOIDC(t, func(settings *access.OIDCSettings) { settings.SessionHours = new(2) })
	s.provider.AccessTTL = 24 * time.Hour
	s.next("ana", "oncall")
	ana := agent(t)
	require.Equal(t, http.StatusOK, get(t, ana, s.URL+"/closed").status)
	ana.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	s.later(119 * time.Minute)
	require.Equal(t, http.StatusOK, get(t, ana, s.URL+"/closed").status)
	s.later(2 * time.Minute)
	page := get(t, ana, s.URL+"/closed")
	require.Equal(t, http.StatusSeeOther, page.status)
	require.Equal(t, access.PathSignIn+"?to=%2Fclosed", page.header.Get("Location"))
	require.Equal(t, http.StatusForbidden, post(t, ana, s.URL, "/waits/jobwait/demo-export/acct-42/x", nil).status)

	begun := get(t, ana, s.URL+access.PathSignIn)
	back := get(t, ana, begun.header.Get("Location")).header.Get("Location")
	s.later(11 * time.Minute)
	late := get(t, ana, back)
	require.Equal(t, http.StatusForbidden, late.status)
	require.Contains(t, late.text, "This sign-in was not begun here, or is too old.")
}

// What does not belong to a sign-in that this browser began here signs nobody in.
func TestForgedSignIns(t *testing.T) {
	t.Parallel()
	s := withOIDC(t)
	// begin comes as far as the answer of the provider.
	begin := func(client *http.Client) string {
		client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
		s.next("ana", "oncall")
		return get(t, client, get(t, client, s.URL+access.PathSignIn).header.Get("Location")).header.Get("Location")
	}
	with := func(address, name, value string) string {
		parsed, err := url.Parse(address)
		require.NoError(t, err)
		query := parsed.Query()
		query.Set(name, value)
		parsed.RawQuery = query.Encode()
		return parsed.String()
	}
	refused := func(name string, client *http.Client, address, because string) {
		page := get(t, client, address)
		require.Equal(t, http.StatusForbidden, page.status, name)
		require.Contains(t, page.text, "Not signed in", name)
		require.Contains(t, s.Log.String(), because, name)
		require.Equal(t, http.StatusSeeOther, get(t, client, s.URL+"/closed").status, name+": nobody is signed in")
	}
	ana := agent(t)
	refused("another state", ana, with(begin(ana), "state", "forged"), "state is not the one that was sent")
	ana = agent(t)
	refused("no state", ana, with(begin(ana), "state", ""), "state is not the one that was sent")
	ana, mallory := agent(t), agent(t)
	begin(ana)
	refused("a sign-in of somebody else", ana, begin(mallory), "state is not the one that was sent")
	refused("none was begun", stubborn(t), begin(agent(t)), "the browser carries no sign-in that has begun")
	ana = agent(t)
	refused("another issuer", ana, with(begin(ana), "iss", "https://evil.example.com"), "iss is not the issuer")
	ana = agent(t)
	refused("another code", ana, with(begin(ana), "code", "forged"), "the provider refused the code: 401")
	ana = agent(t)
	refused("an error", ana, with(begin(ana), "error", "access_denied"), `the provider answered \"access_denied\"`)

	ana = agent(t)
	used := begin(ana)
	require.Equal(t, http.StatusSeeOther, get(t, ana, used).status)
	refused("a code again", stubborn(t), used, "the browser carries no sign-in that has begun")

	s.interfere(func(r *http.Request) {
		if r.URL.Path == mockoidc.AuthorizationEndpoint {
			query := r.URL.Query()
			query.Set("nonce", "forged")
			r.URL.RawQuery = query.Encode()
		}
	})
	ana = agent(t)
	refused("another nonce", ana, begin(ana), "nonce is not the one that was sent")
	s.interfere(func(r *http.Request) {
		if r.URL.Path == mockoidc.AuthorizationEndpoint {
			query := r.URL.Query()
			query.Set("code_challenge", "forged")
			r.URL.RawQuery = query.Encode()
		}
	})
	ana = agent(t)
	refused("another code challenge", ana, begin(ana), "the provider refused the code")
	s.interfere(nil)

	s.provider.FastForward(-2 * time.Hour)
	ana = agent(t)
	refused("an ID token that is over", ana, begin(ana), "the ID token does not hold: oidc: token is expired")
}

// An attempt's cookie is sealed: another content, or one of another server, is none.
func TestTamperedAttempt(t *testing.T) {
	t.Parallel()
	s, other := withOIDC(t), withOIDC(t)
	for name, value := range map[string]string{"nonsense": "AAAA", "empty": "", "another server's": attemptOf(t, other), "changed": attemptOf(t, s)[1:]} {
		ana := stubborn(t)
		ana.Jar.SetCookies(&url.URL{Scheme: "http", Host: strings.TrimPrefix(s.URL, "http://"), Path: "/"}, []*http.Cookie{{Name: "jobwait-sign-in", Value: value, Path: "/"}})
		require.Equal(t, http.StatusForbidden, get(t, ana, s.URL+access.PathCallback+"?code=x&state=y").status, name)
	}
	require.Contains(t, s.Log.String(), "not sealed by this server")
}

func attemptOf(t *testing.T, s *signIn) string {
	t.Helper()
	client := stubborn(t)
	get(t, client, s.URL+access.PathSignIn)
	return client.Jar.Cookies(&url.URL{Scheme: "http", Host: strings.TrimPrefix(s.URL, "http://"), Path: "/"})[0].Value
}

// stubborn follows no redirect.
func stubborn(t *testing.T) *http.Client {
	t.Helper()
	client := agent(t)
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return client
}

// Who people are is what the provider vouches for.
func TestWhoPeopleAre(t *testing.T) {
	t.Parallel()
	name := func(claim string) func(*access.OIDCSettings) {
		return func(settings *access.OIDCSettings) { settings.NameClaim = claim }
	}
	unverified := &mockoidc.MockUser{Subject: "s", Email: "ana@example.com", PreferredUsername: "ana", Groups: []string{"oncall"}}
	for title, c := range map[string]struct {
		user   *mockoidc.MockUser
		change []func(*access.OIDCSettings)
		want   string // the name; empty: refused
	}{
		"an address that is not verified": {user: unverified},
		"another claim":                   {user: unverified, change: []func(*access.OIDCSettings){name("preferred_username")}, want: "ana"},
		"the subject":                     {user: unverified, change: []func(*access.OIDCSettings){name("sub")}, want: "s"},
		"a claim that is not there":       {user: unverified, change: []func(*access.OIDCSettings){name("upn")}},
		"a claim that is no text":         {user: unverified, change: []func(*access.OIDCSettings){name("exp")}},
		"a name that breaks the line":     {user: &mockoidc.MockUser{Subject: "s\nadmin", Groups: []string{"oncall"}}, change: []func(*access.OIDCSettings){name("sub")}},
	} {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			s := withOIDC(t, c.change...)
			s.provider.QueueUser(c.user)
			page := get(t, agent(t), s.URL+"/closed")
			if c.want == "" {
				require.Equal(t, http.StatusForbidden, page.status)
				require.Contains(t, page.text, "You could not be signed in.")
				return
			}
			require.Equal(t, http.StatusOK, page.status, page.text)
			require.Contains(t, page.text, "<span>"+c.want+"</span>")
		})
	}
}

// Where the ID token has no groups, the provider is asked for them.
func TestGroupsFromUserInfo(t *testing.T) {
	t.Parallel()
	s := withOIDC(t, func(settings *access.OIDCSettings) { settings.GroupsClaim = "teams" })
	s.provider.QueueUser(teamUser{&mockoidc.MockUser{Subject: "s", Email: "ana@example.com", EmailVerified: true}})
	page := get(t, agent(t), s.URL+"/closed")
	require.Equal(t, http.StatusOK, page.status, page.text)
	require.Contains(t, s.Log.String(), `msg="signed in" person=ana@example.com groups=[oncall]`)
}

// teamUser has its groups in the userinfo alone, under another name.
type teamUser struct{ *mockoidc.MockUser }

func (u teamUser) Userinfo([]string) ([]byte, error) {
	return json.Marshal(map[string]any{"sub": u.Subject, "teams": []string{"oncall"}, "email": "mallory@example.com"})
}

// Where a page leads after signing in is a page of the inbox, whatever an address says.
func TestWhereSigningInLeads(t *testing.T) {
	t.Parallel()
	s := withOIDC(t)
	for to, want := range map[string]string{
		"/closed?provider=x": "/closed?provider=x", "//evil.example.com": "/", "https://evil.example.com/": "/", `/\evil.example.com`: "/",
		"/auth/sign-out": "/", "javascript:alert(1)": "/", "": "/", "/\t/evil.example.com": "/",
	} {
		s.next("ana", "oncall")
		page := get(t, agent(t), s.URL+access.PathSignIn+"?to="+url.QueryEscape(to))
		require.Equal(t, s.URL+want, page.address.String(), to)
	}
}

// While the provider is away nobody signs in, who is signed in stays so, and it comes back by itself.
func TestProviderAway(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // for the length of the test
	require.NoError(t, err)
	address := listener.Addr().String()
	require.NoError(t, listener.Close())
	provider, err := mockoidc.NewServer(nil)
	require.NoError(t, err)
	inbox := inboxtest.Open(t, shared, func(origin *url.URL, logger *slog.Logger) (access.Gate, error) {
		return access.NewOIDC(access.OIDCSettings{Issuer: "http://" + address + mockoidc.IssuerBase, ClientID: provider.ClientID}, provider.ClientSecret, origin, logger, time.Now)
	}, oncall)
	page := get(t, agent(t), inbox.URL)
	require.Equal(t, http.StatusBadGateway, page.status)
	require.Contains(t, page.text, "The sign-in service does not answer. Try again shortly.")

	listener, err = net.Listen("tcp", address) //nolint:noctx // for the length of the test
	require.NoError(t, err)
	require.NoError(t, provider.Start(listener, nil))
	provider.QueueUser(&mockoidc.MockUser{Subject: "s", Email: "ana@example.com", EmailVerified: true, Groups: []string{"oncall"}})
	ana := agent(t)
	require.Equal(t, http.StatusOK, get(t, ana, inbox.URL).status)
	require.NoError(t, provider.Shutdown())
	require.Equal(t, http.StatusOK, get(t, ana, inbox.URL).status)
}
