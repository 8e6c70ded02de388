package statetables

import (
	"bytes"
	"errors"
	"io"
	"slices"
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

var (
	errTooDeep      = errors.New("nested too deep")
	errDuplicateKey = errors.New("a key is given twice")
)

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
	case errors.Is(err, errDuplicateKey):
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

// parsers are reused, because a new one costs more than reading a small body.
var parsers = sync.Pool{New: func() any { return &parser{decoder: jsontext.NewDecoder(bytes.NewReader(nil))} }}

// parser reads one JSON value. Members and elements wait on its stacks until their object or list is complete, so that
// each is made once and in its size.
type parser struct {
	decoder *jsontext.Decoder
	keys    []string
	values  []any
}

func parseJSON(data []byte) (any, error) {
	p, ok := parsers.Get().(*parser)
	if !ok {
		return nil, errors.New("no parser")
	}
	defer p.release()
	// Repeated names are left to object, which finds them at half the decoder's cost.
	p.decoder.Reset(bytes.NewBuffer(data), jsontext.AllowDuplicateNames(true))
	value, err := p.value(0)
	if err != nil {
		return nil, err
	}
	if _, err := p.decoder.ReadToken(); !errors.Is(err, io.EOF) {
		return nil, errors.New("something follows the value")
	}
	return value, nil
}

// release forgets the body before the parser waits for the next one.
func (p *parser) release() {
	clear(p.keys[:cap(p.keys)])
	clear(p.values[:cap(p.values)])
	p.keys, p.values = p.keys[:0], p.values[:0]
	p.decoder.Reset(bytes.NewReader(nil))
	if cap(p.values) <= 4096 {
		parsers.Put(p)
	}
}

func (p *parser) value(depth int) (any, error) {
	if depth > maxDepth {
		return nil, errTooDeep
	}
	token, err := p.decoder.ReadToken()
	if errors.Is(err, io.EOF) {
		return nil, io.ErrUnexpectedEOF
	}
	if err != nil {
		return nil, err
	}
	switch byte(token.Kind()) {
	case '{':
		return p.object(depth)
	case '[':
		return p.list(depth)
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

func (p *parser) object(depth int) (any, error) {
	keys, values := len(p.keys), len(p.values)
	for p.decoder.PeekKind() != '}' {
		name, err := p.decoder.ReadToken()
		if err != nil {
			return nil, err
		}
		p.keys = append(p.keys, name.String())
		value, err := p.value(depth + 1)
		if err != nil {
			return nil, err
		}
		p.values = append(p.values, value)
	}
	object := make(map[string]any, len(p.keys)-keys)
	for i, key := range p.keys[keys:] {
		object[key] = p.values[values+i]
	}
	if len(object) < len(p.keys)-keys {
		return nil, errDuplicateKey
	}
	p.keys, p.values = p.keys[:keys], p.values[:values]
	_, err := p.decoder.ReadToken()
	return object, err
}

func (p *parser) list(depth int) (any, error) {
	values := len(p.values)
	for p.decoder.PeekKind() != ']' {
		value, err := p.value(depth + 1)
		if err != nil {
			return nil, err
		}
		p.values = append(p.values, value)
	}
	list := slices.Clone(p.values[values:])
	if list == nil {
		list = []any{}
	}
	p.values = p.values[:values]
	_, err := p.decoder.ReadToken()
	return list, err
}

// headerValue joins the values of a header, whatever its case; empty if it is absent.
func headerValue(header map[string][]string, lower string) string {
	return strings.Join(headerValues(header, lower), ", ")
}

func headerValues(header map[string][]string, lower string) []string {
	var names []string
	for name := range header {
		if strings.EqualFold(name, lower) {
			names = append(names, name)
		}
	}
	slices.Sort(names) // the same answer reads the same each time
	var all []string
	for _, name := range names {
		all = append(all, header[name]...)
	}
	return all
}
