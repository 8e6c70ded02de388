package listing

import (
	"encoding/base64"
	"strings"
	"time"

	"go.temporal.io/sdk/converter"
)

// maxPlaceBytes bounds what an address may carry as a place in a list.
const maxPlaceBytes = 4096

// plain reads what the server itself wrote; no codec is over it.
var plain = converter.GetDefaultDataConverter()

// encodePlace makes the server's own mark of a place fit for an address.
func encodePlace(token []byte) string { return base64.RawURLEncoding.EncodeToString(token) }

func decodePlace(place string) ([]byte, error) {
	if len(place) > maxPlaceBytes {
		return nil, ErrPlace
	}
	token, err := base64.RawURLEncoding.DecodeString(place)
	if err != nil {
		return nil, ErrPlace
	}
	return token, nil
}

// after is a place in the list of what waits for a decision: behind one of its rows.
type after struct {
	at time.Time
	id string
}

func (a after) String() string {
	return encodePlace([]byte(a.at.UTC().Format(time.RFC3339Nano) + " " + a.id))
}

func parseAfter(place string) (after, error) {
	text, err := decodePlace(place)
	if err != nil || len(text) == 0 {
		return after{}, err
	}
	stamp, id, ok := strings.Cut(string(text), " ")
	at, err := time.Parse(time.RFC3339Nano, stamp)
	if err != nil || !ok {
		return after{}, ErrPlace
	}
	return after{at: at, id: id}, nil
}
