package listing

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"strings"
	"time"

	"go.temporal.io/sdk/converter"
)

// maxPlaceBytes bounds what an address may carry as a place in a list.
const maxPlaceBytes = 4096

// plain reads what the server itself wrote; no codec is over it.
var plain = converter.GetDefaultDataConverter()

// places makes marks of places fit for an address, and takes back only those that it made: what it is given comes from
// outside, and a server asks itself again and again about a mark that it cannot read.
type places struct{ key []byte }

func newPlaces() places {
	key := make([]byte, sha256.Size)
	_, _ = rand.Read(key) // never fails
	return places{key}
}

func (p places) encode(token []byte) string {
	if len(token) == 0 {
		return ""
	}
	return base64.RawURLEncoding.EncodeToString(append(p.sum(token), token...))
}

func (p places) decode(place string) ([]byte, error) {
	if place == "" {
		return nil, nil
	}
	data, err := base64.RawURLEncoding.DecodeString(place)
	if err != nil || len(place) > maxPlaceBytes || len(data) < sha256.Size || !hmac.Equal(data[:sha256.Size], p.sum(data[sha256.Size:])) {
		return nil, ErrPlace
	}
	return data[sha256.Size:], nil
}

func (p places) sum(token []byte) []byte {
	mac := hmac.New(sha256.New, p.key)
	_, _ = mac.Write(token)
	return mac.Sum(nil)
}

// after is a place in the list of what waits for a decision: behind one of its rows.
type after struct {
	at time.Time
	id string
}

func (a after) token() []byte { return []byte(a.at.UTC().Format(time.RFC3339Nano) + " " + a.id) }

func (p places) after(place string) (after, error) {
	token, err := p.decode(place)
	if err != nil || token == nil {
		return after{}, err
	}
	stamp, id, ok := strings.Cut(string(token), " ")
	at, err := time.Parse(time.RFC3339Nano, stamp)
	if err != nil || !ok {
		return after{}, ErrPlace // one of another list
	}
	return after{at: at, id: id}, nil
}
