package plain_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobwait/jobwait/internal/plain"
)

func TestWhatIsObeyedOrHiddenIsMadeVisible(t *testing.T) {
	t.Parallel()
	require.Equal(t, `ben\x1b[2J\x1b]0;owned\x07\u202e\u009b2J\xff`, plain.Text("ben\x1b[2J\x1b]0;owned\x07\u202e\u009b2J\xff"))
	require.Equal(t, "é 日本 😀\n\tb", plain.Text("é 日本 😀\n\tb"))
	require.Equal(t, `a\x0a\x09b\x0d\U000e0001`, plain.Cell("a\n\tb\r\U000e0001"))
}
