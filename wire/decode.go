package wire

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// MaxSpecBytes bounds the JSON of a Spec or FetchSpec, MaxDecisionBytes that of a Decision or ExtensionRequest.
const (
	MaxSpecBytes     = 64 << 10
	MaxDecisionBytes = 16 << 10

	maxPlaceBytes = 128
)

// MaxIDChars bounds ids and the names of people, MaxCommentChars the comment of a decision. Both count characters, not bytes.
const (
	MaxIDChars      = 256
	MaxCommentChars = 4096
)

// DecodeSpec decodes a spec strictly. It refuses unknown and repeated names, names in another case, wrong types, invalid UTF-8 and
// data after the object. The error names the field and never repeats its value, which may be a URL with a secret.
func DecodeSpec(data []byte) (Spec, error) {
	return decodeStrictly[Spec]("spec", data, MaxSpecBytes)
}

// DecodeDecision decodes a decision as strictly as DecodeSpec decodes a spec.
func DecodeDecision(data []byte) (Decision, error) {
	return decodeStrictly[Decision]("decision", data, MaxDecisionBytes)
}

// DecodeFetchSpec decodes the input of FetchResult as strictly as DecodeSpec decodes a spec.
func DecodeFetchSpec(data []byte) (FetchSpec, error) {
	return decodeStrictly[FetchSpec]("fetch", data, MaxSpecBytes)
}

// DecodeSubmitSpec decodes the input of SubmitAndAwait as strictly as DecodeSpec decodes a spec.
func DecodeSubmitSpec(data []byte) (SubmitSpec, error) {
	return decodeStrictly[SubmitSpec]("submit", data, MaxSubmitSpecBytes)
}

// DecodeOwn decodes what a worker wrote into a history: a record, or the result of an activity. It refuses unknown names: a newer
// version wrote them, and ignoring them could change what they mean.
func DecodeOwn(data []byte, into any) error {
	if err := json.Unmarshal(data, into, json.RejectUnknownMembers(true)); err != nil {
		return errors.New(explain(err))
	}
	return nil
}

// Canonical returns a JSON value in its canonical form (RFC 8785).
func Canonical(data []byte) ([]byte, error) {
	value := jsontext.Value(data).Clone()
	if err := value.Canonicalize(); err != nil {
		return nil, fmt.Errorf("not canonical JSON: %w", err)
	}
	return value, nil
}

// AppendText appends a string to dst in its canonical JSON form (RFC 8785). Invalid UTF-8 is written as U+FFFD.
func AppendText(dst []byte, text string) []byte {
	quoted, _ := jsontext.AppendQuote(dst, text) // the error only says that something was replaced
	return quoted
}

func decodeStrictly[T any](what string, data []byte, limit int) (T, error) {
	var value, none T
	if len(data) > limit {
		return none, fmt.Errorf("%s: %d bytes, at most %d are read", what, len(data), limit)
	}
	if kind := jsontext.Value(data).Kind(); kind != '{' && jsontext.Value(data).IsValid() {
		return none, fmt.Errorf("%s: a JSON object is wanted, got %s", what, kindName(kind))
	}
	if err := json.Unmarshal(data, &value, json.RejectUnknownMembers(true)); err != nil {
		return none, fmt.Errorf("%s: %s", what, explain(err))
	}
	return value, nil
}

// explain says where the text broke which rule, without repeating its values.
func explain(err error) string {
	var semantic *json.SemanticError
	var syntactic *jsontext.SyntacticError
	switch {
	case errors.Is(err, json.ErrUnknownName) && errors.As(err, &semantic):
		return fmt.Sprintf("field %q is not known", place(semantic.JSONPointer))
	case errors.Is(err, jsontext.ErrDuplicateName) && errors.As(err, &syntactic):
		return fmt.Sprintf("field %q is given twice", place(syntactic.JSONPointer))
	case errors.As(err, &semantic):
		return fmt.Sprintf("field %q: %s where %s belongs", place(semantic.JSONPointer), kindName(semantic.JSONKind), goKind(semantic))
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return "empty or cut off JSON"
	case errors.As(err, &syntactic):
		return fmt.Sprintf("not valid JSON at byte %d", syntactic.ByteOffset)
	default:
		return "not readable as JSON"
	}
}

func place(pointer jsontext.Pointer) string {
	text := strings.ReplaceAll(strings.TrimPrefix(string(pointer), "/"), "/", ".")
	if len(text) > maxPlaceBytes { // an unknown name is as long as its sender likes
		text = strings.ToValidUTF8(text[:maxPlaceBytes], "") + "..."
	}
	return text
}

func kindName(kind jsontext.Kind) string {
	switch kind { //nolint:exhaustive // the kinds that begin a value
	case 'n':
		return "null"
	case 't', 'f':
		return "a boolean"
	case '"':
		return "a string"
	case '0':
		return "a number"
	case '{':
		return "an object"
	case '[':
		return "a list"
	default:
		return "something that is not JSON"
	}
}

func goKind(err *json.SemanticError) string {
	if err.GoType == nil {
		return "another value"
	}
	switch name := err.GoType.String(); name {
	case "time.Time":
		return "a time in RFC 3339 (2025-04-18T10:20:00Z)"
	case "int", "int64":
		return "a whole number"
	case "bool":
		return "true or false"
	default:
		switch err.GoType.Kind().String() {
		case "string":
			return "a string"
		case "slice":
			return "a list"
		default:
			return "an object"
		}
	}
}
