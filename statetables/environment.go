package statetables

import (
	"net/url"
	"strconv"
	"strings"
	"sync"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"
)

// environment is the one CEL environment of the format; building it costs more than compiling an expression.
var environment = sync.OnceValues(func() (*cel.Env, error) {
	return cel.NewEnv(
		cel.CustomTypeAdapter(adapter{}),
		cel.Variable("body", cel.DynType),
		cel.Variable("status", cel.IntType),
		cel.Variable("header", cel.MapType(cel.StringType, cel.StringType)),
		cel.Variable("params", cel.MapType(cel.StringType, cel.StringType)),
		cel.Variable("job_id", cel.StringType),
		cel.Variable("now", cel.TimestampType),
		cel.Function("given", cel.Overload("given_dyn", []*cel.Type{cel.DynType}, cel.BoolType,
			cel.UnaryBinding(given), cel.OverloadIsNonStrict())),
		cel.Function("either", cel.Overload("either_dyn_dyn", []*cel.Type{cel.DynType, cel.DynType}, cel.DynType,
			cel.BinaryBinding(either), cel.OverloadIsNonStrict())),
		cel.Function("last_segment",
			cel.Overload("last_segment_string", []*cel.Type{cel.StringType}, cel.StringType, cel.UnaryBinding(lastSegment)),
			cel.Overload("last_segment_string_int", []*cel.Type{cel.StringType, cel.IntType}, cel.StringType, cel.BinaryBinding(lastSegmentBut))),
		cel.Function("query_value", cel.Overload("query_value_string_string", []*cel.Type{cel.StringType, cel.StringType}, cel.DynType,
			cel.BinaryBinding(queryValue))),
	)
})

// given says that something stands there: not absent, not null, not a blank text, and not a list or an object in which
// nothing is given.
func given(value ref.Val) ref.Val {
	switch value := value.(type) {
	case *types.Err:
		if isAbsence(value) {
			return types.False
		}
		return value
	case types.Null:
		return types.False
	case types.String:
		return types.Bool(!blank(string(value)))
	case traits.Mapper:
		return anyGiven(value, value.Get)
	case traits.Lister:
		return anyGiven(value, itself)
	default:
		return types.True
	}
}

// anyGiven looks through a list, or through an object, which runs over its keys.
func anyGiven(over traits.Iterable, valueOf func(ref.Val) ref.Val) ref.Val {
	for elements := over.Iterator(); elements.HasNext() == types.True; {
		if given(valueOf(elements.Next())) == types.True {
			return types.True
		}
	}
	return types.False
}

func itself(value ref.Val) ref.Val { return value }

// either is the first value, or the second where the first is absent or null.
func either(value, otherwise ref.Val) ref.Val {
	failed, ok := value.(*types.Err)
	if ok && !isAbsence(failed) {
		return value
	}
	if ok || value == types.NullValue {
		return otherwise
	}
	return value
}

// lastSegment is the last segment of a URL's path that is not empty, without its escapes.
func lastSegment(value ref.Val) ref.Val { return lastSegmentBut(value, types.IntZero) }

// lastSegmentBut leaves so many segments at the end out. A path with no more than these is an error.
func lastSegmentBut(value, leftOut ref.Val) ref.Val {
	text, isText := value.(types.String)
	but, isNumber := leftOut.(types.Int)
	if !isText || !isNumber {
		return types.NewErr("not a text and a number")
	}
	parsed, err := url.Parse(string(text))
	if err != nil {
		return types.NewErr("no URL")
	}
	segments := strings.Split(strings.TrimRight(parsed.Path, "/"), "/")
	if but < 0 || int(but) >= len(segments) {
		return types.NewErr("the path has fewer segments")
	}
	return types.String(segments[len(segments)-1-int(but)])
}

// queryValue is the first value that a name has in a URL's query; null where it has none.
func queryValue(address, name ref.Val) ref.Val {
	text, isText := address.(types.String)
	wanted, isName := name.(types.String)
	if !isText || !isName {
		return types.NewErr("not two texts")
	}
	parsed, err := url.Parse(string(text))
	if err != nil {
		return types.NewErr("no URL")
	}
	query, err := url.ParseQuery(parsed.RawQuery)
	if err != nil {
		return types.NewErr("no query")
	}
	if query.Get(string(wanted)) == "" {
		return types.NullValue
	}
	return types.String(query.Get(string(wanted)))
}

// adapter shows the body to CEL without copying it.
type adapter struct{}

// NativeToValue wraps objects and lists lazily and gives a number the type that holds it.
func (a adapter) NativeToValue(value any) ref.Val {
	switch value := value.(type) {
	case number:
		return celNumber(value)
	case map[string]any:
		return types.NewStringInterfaceMap(a, value)
	case []any:
		return types.NewDynamicList(a, value)
	default:
		return types.DefaultTypeAdapter.NativeToValue(value)
	}
}

func celNumber(text number) ref.Val {
	if whole, err := strconv.ParseInt(string(text), 10, 64); err == nil {
		return types.Int(whole)
	}
	if whole, err := strconv.ParseUint(string(text), 10, 64); err == nil {
		return types.Uint(whole)
	}
	if !strings.ContainsAny(string(text), ".eE") {
		return types.NewErr("a whole number beyond 64 bits")
	}
	fraction, err := strconv.ParseFloat(string(text), 64)
	if err != nil {
		return types.NewErr("a number beyond 64 bits")
	}
	return types.Double(fraction)
}
