package startercmd

import (
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/jobwait/jobwait/internal/scripttest"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"starter": Main})
}

// What needs no server. The scripts of internal/e2e run the commands on one.
func TestScript(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script", RequireExplicitExec: true, RequireUniqueNames: true, Cmds: scripttest.Commands(),
		Setup: func(env *testscript.Env) error {
			env.Setenv("TEMPORAL_ADDRESS", "127.0.0.1:1") // whatever connects, fails
			env.Setenv("USER", "ana")
			return nil
		},
	})
}
