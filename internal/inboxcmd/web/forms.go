package web

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"time"
)

// formLife is how long a form that was shown may be sent. Questions stay open for days; who comes back later looks again.
const formLife = 24 * time.Hour

// slip is what one rendered form is about. It is sent along, and sealed, so that nobody can answer another question, in
// another name, than the one that was shown. Its decision id is made once per form: a form that is sent twice decides once.
type slip struct {
	Person       string    `json:"person"`
	WorkflowID   string    `json:"workflow_id"`
	EscalationID string    `json:"escalation_id"`
	DecisionID   string    `json:"decision_id"`
	RawState     string    `json:"raw_state"`
	ShownAt      time.Time `json:"shown_at"`
}

// forms seals slips with a key of this process. A restart makes the forms that are open void.
type forms struct{ key []byte }

func newForms(random io.Reader) forms {
	key := make([]byte, 32)
	_, _ = io.ReadFull(random, key) // crypto/rand never fails
	return forms{key}
}

var (
	errForged  = errors.New("the form was not made by this server for you")
	errExpired = errors.New("the form was shown more than a day ago")
)

// seal is the slip and its seal as one text for a hidden field.
func (f forms) seal(s slip) string {
	text, _ := json.Marshal(s) // strings and a time always marshal
	return base64.RawURLEncoding.EncodeToString(append(f.sum(text), text...))
}

func (f forms) sum(text []byte) []byte {
	mac := hmac.New(sha256.New, f.key)
	_, _ = mac.Write(text)
	return mac.Sum(nil)
}

// open reads a sealed slip and holds it against who sends it about what.
func (f forms) open(sealed, person, workflowID string, now time.Time) (slip, error) {
	data, err := base64.RawURLEncoding.DecodeString(sealed)
	if err != nil || len(data) < sha256.Size || !hmac.Equal(data[:sha256.Size], f.sum(data[sha256.Size:])) {
		return slip{}, errForged
	}
	var s slip
	if err := json.Unmarshal(data[sha256.Size:], &s); err != nil || s.Person != person || s.WorkflowID != workflowID {
		return slip{}, errForged
	}
	if now.Sub(s.ShownAt) > formLife {
		return slip{}, errExpired
	}
	return s, nil
}
