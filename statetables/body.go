package statetables

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/jobwait/jobwait/wire"
)

// A body is read into map[string]any, []any, string, bool, nil and number.

// number is a JSON number as it was written, so that no digit of it is lost.
type number string

// maxDepth bounds how deep a body may nest.
const maxDepth = 64

var errTooDeep = errors.New("nested too deep")

// parseBody reads an answer's body, which must be one JSON object. A byte-order mark before it is passed over. Malformed is the
// word for what is wrong, empty if nothing is.
func parseBody(response Response) (body map[string]any, malformed string) {
	if response.BodyTooLarge || len(response.Body) > MaxBodyBytes {
		return nil, wire.MalformedTooLarge
	}
	data := bytes.TrimPrefix(response.Body, []byte("\xef\xbb\xbf"))
	if len(bytes.TrimSpace(data)) == 0 {
		return nil, wire.MalformedEmptyBody
	}
	value, err := parseJSON(data)
	if err != nil {
		return nil, malformedWord(data, headerValue(response.Header, "content-type"), err)
	}
	body, ok := value.(map[string]any)
	if !ok {
		return nil, wire.MalformedNotObject
	}
	return body, ""
}

func malformedWord(data []byte, contentType string, err error) string {
	switch {
	case errors.Is(err, jsontext.ErrDuplicateName):
		return wire.MalformedDuplicateKey
	case errors.Is(err, errTooDeep):
		return wire.MalformedTooDeep
	case bytes.HasPrefix(bytes.TrimSpace(data), []byte("<")), strings.Contains(strings.ToLower(contentType), "html"):
		return wire.MalformedHTML
	case !utf8.Valid(data):
		return wire.MalformedInvalidUTF8
	case errors.Is(err, io.ErrUnexpectedEOF):
		return wire.MalformedTruncated
	default:
		return wire.MalformedNotJSON
	}
}

// decoders are reused, because a new one costs more than reading a small body.
var decoders = sync.Pool{New: func() any { return jsontext.NewDecoder(bytes.NewReader(nil)) }}

func parseJSON(data []byte) (any, error) {
	decoder, ok := decoders.Get().(*jsontext.Decoder)
	if !ok {
		return nil, errors.New("no decoder")
	}
	defer decoders.Put(decoder)
	decoder.Reset(bytes.NewBuffer(data))
	value, err := readValue(decoder, 0)
	if err != nil {
		return nil, err
	}
	if _, err := decoder.ReadToken(); !errors.Is(err, io.EOF) {
		return nil, errors.New("something follows the value")
	}
	return value, nil
}

func readValue(decoder *jsontext.Decoder, depth int) (any, error) {
	if depth > maxDepth {
		return nil, errTooDeep
	}
	token, err := decoder.ReadToken()
	if errors.Is(err, io.EOF) {
		return nil, io.ErrUnexpectedEOF
	}
	if err != nil {
		return nil, err
	}
	switch token.Kind() {
	case '{':
		return readObject(decoder, depth)
	case '[':
		return readList(decoder, depth)
	case '"':
		return token.String(), nil
	case '0':
		return number(token.String()), nil
	case 't', 'f':
		return token.Bool(), nil
	default:
		return nil, nil
	}
}

func readObject(decoder *jsontext.Decoder, depth int) (any, error) {
	object := map[string]any{}
	for decoder.PeekKind() != '}' {
		name, err := decoder.ReadToken()
		if err != nil {
			return nil, err
		}
		key := name.String()
		if object[key], err = readValue(decoder, depth+1); err != nil {
			return nil, err
		}
	}
	_, err := decoder.ReadToken()
	return object, err
}

func readList(decoder *jsontext.Decoder, depth int) (any, error) {
	list := []any{}
	for decoder.PeekKind() != ']' {
		value, err := readValue(decoder, depth+1)
		if err != nil {
			return nil, err
		}
		list = append(list, value)
	}
	_, err := decoder.ReadToken()
	return list, err
}

// headerValue joins the values of a header, whatever its case; empty if it is absent.
func headerValue(header map[string][]string, lower string) string {
	return strings.Join(headerValues(header, lower), ", ")
}

func headerValues(header map[string][]string, lower string) []string {
	var all []string
	for name, values := range header {
		if strings.EqualFold(name, lower) {
			all = append(all, values...)
		}
	}
	return all
}
