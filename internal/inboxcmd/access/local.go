package access

import (
	"fmt"
	"net/http"
)

// Local is the gate of one person's own machine: whoever reaches its loopback is that person.
type Local struct{ person Person }

// NewLocal takes everybody for the person of this name.
func NewLocal(name string) (Local, error) {
	person := Person{Name: name}
	if err := person.validate(); err != nil {
		return Local{}, fmt.Errorf("local mode: %q: %w", name, err)
	}
	return Local{person}, nil
}

// Mode implements Gate.
func (Local) Mode() Mode { return ModeLocal }

// Identify implements Gate. That the request came over loopback is a matter of where the server listens.
func (l Local) Identify(*http.Request) (Person, error) { return l.person, nil }

// Over implements Gate: nobody signs out.
func (Local) Over(*http.Request) <-chan struct{} { return nil }

// Mount implements Gate: there is nothing to sign in to.
func (Local) Mount(*http.ServeMux, Teller) {}

// SignOut implements Gate: nor to sign out of.
func (Local) SignOut() string { return "" }
