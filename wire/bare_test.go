package wire_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobwait/jobwait/wire"
)

// R14: what a signed link is made of is not shown.
func TestBareParam(t *testing.T) {
	t.Parallel()
	for give, want := range map[string]string{
		"eu?":                        "eu?",
		"https://a.example/x%2Fy":    "https://a.example/x%2Fy",
		"https://a.example/x?sig=s":  "https://a.example/x",
		"https://a.example/x?":       "https://a.example/x",
		"https://a.example/x#s":      "https://a.example/x",
		"https://me:s@a.example/x":   "https://a.example/x",
		"https://a.example/%zz?sig=": "not a URL",
		"see s3://bucket/x?sig=s":    "not a URL",
	} {
		require.Equal(t, want, wire.BareParam(give), give)
	}
}
