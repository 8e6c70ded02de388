package statetables

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
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

	lower map[string]string // header as expressions see it, once one has looked
}

// ResolveName returns CEL the variables of the format.
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

// lowerHeader joins the values of each header under its name in lower case. An answer may have thousands.
func (in *input) lowerHeader() map[string]string {
	if in.lower != nil {
		return in.lower
	}
	in.lower = make(map[string]string, len(in.header))
	for _, name := range slices.Sorted(maps.Keys(in.header)) { // the same answer reads the same each time
		value := strings.Join(in.header[name], ", ")
		name = strings.ToLower(name)
		if before, ok := in.lower[name]; ok {
			value = before + ", " + value
		}
		in.lower[name] = value
	}
	return in.lower
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
	wantsValue // a text, or what can stand as JSON
)

// compile checks text; the error says in one line what is wrong with it.
func compile(text string, kind expressionKind) (*expression, error) {
	if len(text) > maxExpressionBytes {
		return nil, fmt.Errorf("is %d bytes long, at most %d are read", len(text), maxExpressionBytes)
	}
	walk := parseWalk(text)
	if walk != nil && (kind != wantsBool || !walk.asText) {
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
	case slices.Contains(boolKinds, got.Kind()), kind != wantsBool && slices.Contains(textKinds, got.Kind()),
		kind == wantsValue && slices.Contains(jsonKinds, got.Kind()):
		return nil
	case kind == wantsBool:
		return fmt.Errorf("gives %s; a condition gives true or false", got)
	case kind == wantsValue:
		return fmt.Errorf("gives %s; a text, a number, a boolean, a list or an object is read", got)
	default:
		return fmt.Errorf("gives %s; a text, a number or a boolean is read", got)
	}
}

// What may be a condition, what may be a text besides, and what stands as JSON; of a dynamic value only the answer will
// tell.
var (
	jsonKinds = []types.Kind{types.ListKind, types.MapKind}
	boolKinds = []types.Kind{types.DynKind, types.BoolKind}
	textKinds = []types.Kind{types.StringKind, types.IntKind, types.UintKind, types.DoubleKind, types.NullTypeKind}
)

// programOptions bound the work of expressions that iterate (counting it would slow down all others for nothing), and have
// a constant pattern compiled once.
func programOptions(checked *cel.Ast) []cel.ProgramOption {
	whole := ast.NavigateAST(checked.NativeRep())
	var options []cel.ProgramOption
	if len(ast.MatchDescendants(whole, ast.KindMatcher(ast.ComprehensionKind))) > 0 {
		options = append(options, cel.CostLimit(maxCost))
	}
	if len(ast.MatchDescendants(whole, ast.FunctionMatcher("matches"))) > 0 {
		options = append(options, cel.EvalOptions(cel.OptOptimize))
	}
	return options
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
	case traits.Lister:
		return nativeList(value)
	case traits.Mapper:
		return nativeObject(value)
	default:
		return value.Value()
	}
}

// nativeList gives a list of the body as it is, and takes one that the expression made apart.
func nativeList(list traits.Lister) any {
	if whole, ok := list.Value().([]any); ok {
		return whole
	}
	made := []any{}
	for at := list.Iterator(); at.HasNext() == types.True; {
		made = append(made, native(at.Next()))
	}
	return made
}

func nativeObject(object traits.Mapper) any {
	if whole, ok := object.Value().(map[string]any); ok {
		return whole
	}
	made := map[string]any{}
	for at := object.Iterator(); at.HasNext() == types.True; {
		key := at.Next()
		text, _ := textOf(native(key))
		made[text] = native(object.Get(key))
	}
	return made
}
