package statetables

import (
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

var everyShape = sync.OnceValues(func() (*Set, error) {
	return Load(Source{Name: "shapes", FS: os.DirFS("testdata/shapes")}, Source{FS: os.DirFS("testdata/right")})
})

// The shapes of the provider catalogue that the built-in tables do not have yet: each file says which of its points it
// stands for, and its examples are the test.
func shapes(tb testing.TB) *Set {
	tb.Helper()
	set, err := everyShape()
	require.NoError(tb, err)
	return set
}

// R4, R7, R8, R10, R12, R13, R17, H7, H8, H9, S4, S7: see the examples.
func TestShapesReadAsTheirExamplesSay(t *testing.T) {
	t.Parallel()
	require.Len(t, shapes(t).Providers(), 10)
}

func TestTableSaysWhatItIs(t *testing.T) {
	t.Parallel()
	demo := table(t, "demo-export")
	require.Equal(t, "demo-export", demo.Provider())
	require.Equal(t, "Demo export (fake provider)", demo.Title())
	require.Equal(t, []Auth{{Scheme: "bearer", Header: "Authorization", Prefix: "Bearer "}}, demo.Auth())
	require.True(t, demo.NeedsCredential())
	require.False(t, Auth{}.Needed())
}

// A text for people is JSON where it is no text, whatever it holds.
func TestCompact(t *testing.T) {
	t.Parallel()
	in := answerOf(t, `{"x":{"b":[1,null,true,"é\n",{}],"a":[]}}`)
	got := compact(in.body["x"])
	require.JSONEq(t, `{"a":[],"b":[1,null,true,"é\n",{}]}`, got)
	require.True(t, strings.HasPrefix(got, `{"a"`), "sorted, so that the same answer reads the same")
}
