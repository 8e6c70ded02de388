package startercmd

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTheIDInAnAnswer(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ path, body, want string }{
		{"body.id", `{"id": "a"}`, "a"},
		{"body.data.id", `{"data": {"id": 12345678901234567890}}`, "12345678901234567890"},
		{"body.data.id", `{"data": "x"}`, ""},
		{"body.id", `{"id": null}`, ""},
		{"body.id", `<html>`, ""},
		{"", `{"id": "a"}`, ""},
		{`either(body.id, "")`, `{"id": "a"}`, ""},
		{`body.a + ":" + body.b`, `{"a": "1", "b": "2"}`, ""},
	} {
		require.Equal(t, test.want, answersID(test.path, []byte(test.body)), test.path)
	}
}
