package workercmd

import (
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/jobwait/jobwait/internal/scripttest"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"worker": Main})
}

// What can be wrong before anything connects. The scripts of internal/e2e run workers on a server.
func TestScript(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{Dir: "testdata/script", RequireExplicitExec: true, RequireUniqueNames: true, Cmds: scripttest.Commands()})
}
