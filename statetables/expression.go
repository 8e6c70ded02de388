package statetables

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"
	"cel.dev/cel-go/interpreter"
)

const (
	// maxExpressionBytes bounds the text of an expression.
	maxExpressionBytes = 2048
	// maxCost bounds the work of one expression over one answer, in CEL's units: some milliseconds.
	maxCost = 200_000
)

var (
	errAbsent = errors.New("absent")
	errType   = errors.New("a value of another type")
	errCost   = errors.New("too costly")
)

// input is what expressions see of one answer.
type input struct {
	body   map[string]any
	status int
	header map[string][]string
	params map[string]string
	jobID  string
	now    time.Time
}

// ResolveName gives CEL the variables of the format.
func (in *input) ResolveName(name string) (any, bool) {
	switch name {
	case "body":
		return in.body, true
	case "status":
		return in.status, true
	case "header":
		return in.lowerHeader(), true
	case "params":
		return in.params, true
	case "job_id":
		return in.jobID, true
	case "now":
		return in.now, true
	default:
		return nil, false
	}
}

// Parent ends the chain of scopes.
func (in *input) Parent() interpreter.Activation { return nil }

func (in *input) lowerHeader() map[string]string {
	lower := make(map[string]string, len(in.header))
	for name := range in.header {
		name = strings.ToLower(name)
		lower[name] = headerValue(in.header, name)
	}
	return lower
}

// expression is a compiled expression. One that only walks into the body or names a header (body.a.b[0].c,
// string(body.id), header["x"]) is walked without CEL, so that a number keeps every digit it was written with; CEL knows
// numbers as 64 bits.
type expression struct {
	walk    *walk
	program cel.Program
}

type expressionKind int

const (
	wantsText expressionKind = iota
	wantsBool
)

// compile checks text; the error says in one line what is wrong with it.
func compile(text string, kind expressionKind) (*expression, error) {
	if len(text) > maxExpressionBytes {
		return nil, fmt.Errorf("is %d bytes long, at most %d are read", len(text), maxExpressionBytes)
	}
	walk := parseWalk(text)
	if walk != nil && (kind == wantsText || !walk.asText) {
		return &expression{walk: walk}, nil
	}
	env, err := environment()
	if err != nil {
		return nil, err
	}
	checked, issues := env.Compile(text)
	if issues.Err() != nil {
		first := issues.Errors()[0]
		message, _, _ := strings.Cut(first.Message, " expecting ")
		return nil, fmt.Errorf("does not compile at column %d: %s; write CEL over body, status, header, params, job_id and now", first.Location.Column()+1, message)
	}
	if err := checkKind(checked.OutputType(), kind); err != nil {
		return nil, err
	}
	program, err := env.Program(checked, programOptions(checked)...)
	if err != nil {
		return nil, fmt.Errorf("does not compile: %w", err)
	}
	return &expression{program: program}, nil
}

func checkKind(got *cel.Type, kind expressionKind) error {
	switch {
	case slices.Contains(boolKinds, got.Kind()), kind == wantsText && slices.Contains(textKinds, got.Kind()):
		return nil
	case kind == wantsBool:
		return fmt.Errorf("gives %s; a condition gives true or false", got)
	default:
		return fmt.Errorf("gives %s; a text, a number or a boolean is read", got)
	}
}

// What may be a condition and what may be a text besides; of a dynamic value only the answer will tell.
var (
	boolKinds = []types.Kind{types.DynKind, types.BoolKind}
	textKinds = []types.Kind{types.StringKind, types.IntKind, types.UintKind, types.DoubleKind, types.NullTypeKind}
)

// programOptions bound the work of expressions that iterate; counting it would slow down all others for nothing.
func programOptions(checked *cel.Ast) []cel.ProgramOption {
	loops := ast.MatchDescendants(ast.NavigateAST(checked.NativeRep()), ast.KindMatcher(ast.ComprehensionKind))
	if len(loops) == 0 {
		return nil
	}
	return []cel.ProgramOption{cel.CostLimit(maxCost)}
}

// eval gives a value of the body's kinds. The error is errAbsent where the expression reaches for something that is not
// there, errCost, or errType.
func (e *expression) eval(in *input) (any, error) {
	if e.walk != nil {
		return e.walk.eval(in)
	}
	value, _, err := e.program.Eval(in)
	if err != nil {
		return nil, classifyError(err)
	}
	return native(value), nil
}

// holds evaluates a condition. What reaches for something that is not there does not hold.
func (e *expression) holds(in *input) (bool, error) {
	value, err := e.eval(in)
	if errors.Is(err, errAbsent) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	holds, ok := value.(bool)
	if !ok && value != nil {
		return false, errType
	}
	return holds, nil
}

func classifyError(err error) error {
	var cancelled interpreter.EvalCancelledError
	switch {
	case isAbsence(err):
		return errAbsent
	case errors.As(err, &cancelled):
		return errCost
	default:
		return errType
	}
}

// isAbsence knows CEL's errors for a missing key and a missing element, which have no exported type; a test pins them.
func isAbsence(err error) bool {
	text := err.Error()
	return strings.HasPrefix(text, "no such key: ") || strings.HasPrefix(text, "index out of bounds: ") ||
		strings.HasPrefix(text, "no such attribute")
}

func native(value ref.Val) any {
	switch value := value.(type) {
	case types.String:
		return string(value)
	case types.Bool:
		return bool(value)
	case types.Null:
		return nil
	case types.Int:
		return number(strconv.FormatInt(int64(value), 10))
	case types.Uint:
		return number(strconv.FormatUint(uint64(value), 10))
	case types.Double:
		return number(strconv.FormatFloat(float64(value), 'f', -1, 64))
	default:
		return value.Value()
	}
}

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
	)
})

// given says that something stands there: not absent, not null, not an empty text, list or object.
func given(value ref.Val) ref.Val {
	switch value := value.(type) {
	case *types.Err:
		if isAbsence(value) {
			return types.False
		}
		return value
	case types.Null:
		return types.False
	case traits.Sizer:
		return types.Bool(value.Size() != types.IntZero)
	default:
		return types.True
	}
}

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

// walk is a plain way into the body, or a header.
type walk struct {
	header string
	steps  []step
	// asText turns a number or a boolean into text, as string() does.
	asText bool
}

// step goes to an element where index is not negative, else to a key.
type step struct {
	key   string
	index int
}

var (
	walkShape = regexp.MustCompile(`^body((?:\.[A-Za-z_][A-Za-z0-9_]*|\["[^"\\]+"\]|\[[0-9]{1,6}\])+)$`)
	stepShape = regexp.MustCompile(`\.([A-Za-z_][A-Za-z0-9_]*)|\["([^"\\]+)"\]|\[([0-9]+)\]`)
	headShape = regexp.MustCompile(`^header\["([^"\\A-Z]+)"\]$`)
)

// parseWalk is nil where text is more than a plain way.
func parseWalk(text string) *walk {
	inner, asText := strings.CutPrefix(text, "string(")
	if asText {
		inner = strings.TrimSuffix(inner, ")")
	}
	if head := headShape.FindStringSubmatch(inner); head != nil {
		return &walk{header: head[1], asText: asText}
	}
	way := walkShape.FindStringSubmatch(inner)
	if way == nil {
		return nil
	}
	parsed := &walk{asText: asText}
	for _, part := range stepShape.FindAllStringSubmatch(way[1], -1) {
		index := -1
		if part[3] != "" {
			index, _ = strconv.Atoi(part[3]) // at most six digits
		}
		parsed.steps = append(parsed.steps, step{key: part[1] + part[2], index: index})
	}
	return parsed
}

func (w *walk) eval(in *input) (any, error) {
	if w.header != "" {
		return w.evalHeader(in)
	}
	var at any = in.body
	for _, step := range w.steps {
		next, err := step.from(at)
		if err != nil {
			return nil, err
		}
		at = next
	}
	if text, ok := textOf(at); w.asText && ok {
		return text, nil
	}
	if w.asText {
		return nil, errType
	}
	return at, nil
}

func (w *walk) evalHeader(in *input) (any, error) {
	values := headerValues(in.header, w.header)
	if len(values) == 0 {
		return nil, errAbsent
	}
	return strings.Join(values, ", "), nil
}

func (s step) from(at any) (any, error) {
	switch at := at.(type) {
	case map[string]any:
		next, ok := at[s.key]
		if !ok || s.index >= 0 {
			return nil, errAbsent
		}
		return next, nil
	case []any:
		if s.index < 0 || s.index >= len(at) {
			return nil, errAbsent
		}
		return at[s.index], nil
	case nil:
		return nil, errAbsent
	default:
		return nil, errType
	}
}

// textOf writes a text, a number or a boolean; nothing else has a text.
func textOf(value any) (string, bool) {
	switch value := value.(type) {
	case string:
		return value, true
	case number:
		return string(value), true
	case bool:
		return strconv.FormatBool(value), true
	default:
		return "", false
	}
}
