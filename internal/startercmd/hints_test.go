package startercmd

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/serviceerror"

	"github.com/jobwait/jobwait/internal/connect"
)

func TestHintsOfTheServer(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		err  error
		want string
	}{
		{fmt.Errorf("starting: %w", serviceerror.NewNamespaceNotFound("nowhere")), hintNamespace},
		{&connect.UnreachableError{Address: "here:1", Cause: errors.New("refused")}, hintUnreachable},
		{
			&connect.UnreachableError{Address: "here", Cause: errors.New("refused")},
			`address "here" is not host:port; set TEMPORAL_ADDRESS to both (the port is usually 7233)`,
		},
		{errors.New("other"), ""},
	} {
		require.Equal(t, test.want, hintOf(test.err))
	}
}

func TestNearestName(t *testing.T) {
	t.Parallel()
	names := []string{"demo-export", "openai-batch", "xai"}
	for name, want := range map[string]string{
		"demo-exprot": "demo-export", "openai_batch": "openai-batch", "xia": "xai", "kubernetes": "", "demo-export": "demo-export", "": "",
	} {
		require.Equal(t, want, nearest(name, names), name)
	}
	require.Empty(t, nearest("x", nil))
	require.Equal(t, 3, edits("kitten", "sitting"))
}
