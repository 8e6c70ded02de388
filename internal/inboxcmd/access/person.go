// Package access knows who uses the inbox and what they may see and answer: people are known by an OpenID provider, by a
// trusted proxy, or are the one who started a server for this machine alone.
package access

import (
	"errors"
	"fmt"
	"net/http"
	"unicode"
	"unicode/utf8"

	"github.com/jobwait/jobwait/wire"
)

// maxGroups bounds what a sign-in may claim.
const maxGroups = 1000

// Person is who sends a request.
type Person struct {
	// Name stands as decided_by in decisions. 1 to 256 printable characters.
	Name string
	// Groups are what the sign-in says they belong to.
	Groups []string
}

func (p Person) validate() error {
	switch {
	case p.Name == "":
		return errors.New("the name is empty")
	case utf8.RuneCountInString(p.Name) > wire.MaxIDChars:
		return fmt.Errorf("the name has more than %d characters", wire.MaxIDChars)
	case !printable(p.Name):
		return errors.New("the name has characters that cannot be printed")
	case len(p.Groups) > maxGroups:
		return fmt.Errorf("there are more than %d groups", maxGroups)
	default:
		return nil
	}
}

func printable(text string) bool {
	for _, r := range text {
		if r == utf8.RuneError || !unicode.IsPrint(r) {
			return false
		}
	}
	return true
}

// Mode is how people are known.
type Mode string

// The modes.
const (
	ModeLocal Mode = "local"
	ModeProxy Mode = "proxy"
	ModeOIDC  Mode = "oidc"
)

// Gate tells who sends a request.
type Gate interface {
	Mode() Mode
	// Identify is who sends a request. A *NobodyError says why nobody is known, and where to sign in.
	Identify(r *http.Request) (Person, error)
	// Over is closed as soon as a person who was identified is not signed in any more, which ends what lasts longer than a page.
	// Nil: the gate does not hear of that.
	Over(r *http.Request) <-chan struct{}
	// SignOut is where to sign out: PathSignOut is posted to, anything else is a link; empty: nowhere.
	SignOut() string
	// Mount adds the paths that signing in and out need; tell draws a page for somebody who is not signed in.
	Mount(mux *http.ServeMux, tell Teller)
}

// Teller draws a page that says something.
type Teller func(w http.ResponseWriter, r *http.Request, status int, said Said)

// Said is a page for somebody who is not signed in.
type Said struct {
	Title, Text string
	Links       []Link
}

// Link leads to a page that is safe to go to.
type Link struct{ Text, To string }

// NobodyError is a request of which nobody is known to have sent it.
type NobodyError struct {
	// Because says it in words for the person.
	Because string
	// SignIn is where to go; empty where a person can do nothing.
	SignIn string
}

func (e *NobodyError) Error() string { return e.Because }

// The paths of signing in and out.
const (
	PathSignIn   = "/auth/sign-in"
	PathCallback = "/auth/callback"
	PathSignOut  = "/auth/sign-out"
)
