package version

import (
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestLine(t *testing.T) {
	t.Parallel()
	for want, info := range map[string]debug.BuildInfo{
		"devel, go1.26.8": {Main: debug.Module{Path: path, Version: "(devel)"}},
		"v1.2.3, go1.26.8": {
			Main: debug.Module{Path: "example.com/ours", Version: "v0.0.1"}, Deps: []*debug.Module{{Path: path, Version: "v1.2.3"}},
		},
		"devel, commit 0123456789ab with changes, go1.26.8": {
			Settings: []debug.BuildSetting{{Key: "vcs.revision", Value: "0123456789abcdef0123"}, {Key: "vcs.modified", Value: "true"}},
		},
		"v1.2.3, commit 0123, go1.26.8": {
			Main:     debug.Module{Path: path, Version: "v1.2.3"},
			Settings: []debug.BuildSetting{{Key: "vcs.revision", Value: "0123"}, {Key: "vcs.modified", Value: "false"}},
		},
	} {
		info.GoVersion = "go1.26.8"
		require.Equal(t, want, lineOf(&info))
	}
	require.Equal(t, "devel", Module(), "tests are built from a checkout")
	require.Contains(t, Line(), "devel")
}
