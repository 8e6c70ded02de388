package wire_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobwait/jobwait/wire"
)

// TestCategories: only pending and cancelling let a wait go on; needs_input, unknown and any word of tomorrow neither wait
// nor end the job (R3).
func TestCategories(t *testing.T) {
	t.Parallel()
	for category, want := range map[wire.Category]struct{ waits, terminal bool }{
		wire.CategoryPending: {true, false}, wire.CategoryCancelling: {true, false},
		wire.CategorySuccess: {false, true}, wire.CategoryPartial: {false, true}, wire.CategoryFailure: {false, true},
		wire.CategoryCancelled: {false, true}, wire.CategoryExpired: {false, true},
		wire.CategoryNeedsInput: {false, false}, wire.CategoryUnknown: {false, false}, "word of tomorrow": {false, false}, "": {false, false},
	} {
		require.Equal(t, want.waits, category.Waits(), category)
		require.Equal(t, want.terminal, category.Terminal(), category)
	}
}

// TestRefusalIsOneLine: the word first, then what would do.
func TestRefusalIsOneLine(t *testing.T) {
	t.Parallel()
	require.EqualError(t, &wire.Refusal{Reason: wire.RefusalLost}, "decision refused: lost")
	require.EqualError(t, &wire.Refusal{Reason: wire.RefusalOutOfBounds, Detail: "seconds is 1, at least 2 are needed"},
		"decision refused: out_of_bounds: seconds is 1, at least 2 are needed")
}

// TestDecisionKinds: the list has every kind that this package names.
func TestDecisionKinds(t *testing.T) {
	t.Parallel()
	parsed, err := parser.ParseFile(token.NewFileSet(), "enums.go", nil, 0)
	require.NoError(t, err)
	var named []wire.DecisionKind
	ast.Inspect(parsed, func(node ast.Node) bool {
		if spec, ok := node.(*ast.ValueSpec); ok {
			if kind, ok := spec.Type.(*ast.Ident); ok && kind.Name == "DecisionKind" {
				word, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
				require.NoError(t, err)
				named = append(named, wire.DecisionKind(word))
			}
		}
		return true
	})
	require.NotEmpty(t, named)
	require.ElementsMatch(t, named, wire.DecisionKinds())
}
