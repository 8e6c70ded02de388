package e2e_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/api/workflowservice/v1"

	"github.com/jobwait/jobwait/internal/bed"
	"github.com/jobwait/jobwait/internal/devserver"
	"github.com/jobwait/jobwait/internal/scripttest"
	"github.com/jobwait/jobwait/waittest"
	"github.com/jobwait/jobwait/wire"
)

// scriptPatience bounds what a script waits for.
const scriptPatience = 3 * time.Minute

// The command line on a real server: testdata/script/*.txt on the shared bed, testdata/script-runs/*.txt on the one where
// short waits have many runs.
func TestScripts(t *testing.T) {
	t.Parallel()
	for dir, on := range map[string]func() *bed.Bed{
		"testdata/script":      func() *bed.Bed { return shared },
		"testdata/script-runs": func() *bed.Bed { return restless },
	} {
		t.Run(dir, func(t *testing.T) {
			t.Parallel()
			scripts := scripts{bed: on()}
			testscript.Run(t, testscript.Params{
				Dir: dir, RequireExplicitExec: true, RequireUniqueNames: true, Setup: scripts.setup, Cmds: scripts.commands(),
			})
		})
	}
}

// scripts are the commands of scripts on one bed.
type scripts struct{ bed *bed.Bed }

func (s scripts) setup(env *testscript.Env) error {
	temporal, err := devserver.Find(context.Background(), io.Discard)
	env.Setenv("TEMPORAL_ADDRESS", s.bed.Server.Address)
	env.Setenv("TEMPORAL_CLI", temporal.Path)
	env.Setenv("PROVIDER", s.bed.Provider.URL())
	env.Setenv("PROVIDER_KEY", bed.Key)
	_, port, _ := strings.Cut(s.bed.Provider.Address(), ":")
	env.Setenv("PROVIDER_PORT", port)
	env.Setenv("USER", "ana")
	return err
}

func (s scripts) commands() map[string]func(*testscript.TestScript, bool, []string) {
	commands := scripttest.Commands()
	maps.Copy(commands, map[string]func(*testscript.TestScript, bool, []string){
		"jobs": s.jobs, "until": s.until, "forget-first-run": s.forgetFirstRun, "interrupted": interrupted,
		"free-port": freePort, "get": getInto, "listed": listed,
		"gone": gone, "asked": s.asked, "release": s.release,
	})
	return commands
}

func use(ts *testscript.TestScript, neg bool, args []string, n int, usage string) {
	if neg || len(args) < n {
		ts.Fatalf("usage: %s", usage)
	}
}

// jobs gives the provider the jobs of a script file, in which $PROVIDER stands for its URL.
func (s scripts) jobs(ts *testscript.TestScript, neg bool, args []string) {
	use(ts, neg, args, 1, "jobs FILE")
	text := strings.ReplaceAll(ts.ReadFile(args[0]), "$PROVIDER", ts.Getenv("PROVIDER"))
	script, err := waittest.ReadProviderScript(strings.NewReader(text))
	ts.Check(err)
	for id, job := range script.Jobs {
		ts.Check(s.bed.Provider.Set(id, job))
	}
	if script.Submit != nil { // one script takes submissions, the others have their providers
		ts.Check(s.bed.Provider.TakeSubmissions(*script.Submit))
	}
}

// asked waits until the provider has received a number of requests about a job.
func (s scripts) asked(ts *testscript.TestScript, neg bool, args []string) {
	use(ts, neg, args, 2, "asked JOB NUMBER")
	n, err := strconv.Atoi(args[1])
	ts.Check(err)
	ctx, cancel := context.WithTimeout(context.Background(), scriptPatience)
	defer cancel()
	_, err = s.bed.Provider.AwaitRequests(ctx, args[0], n)
	ts.Check(err)
}

// release lets the provider answer the request that it holds.
func (s scripts) release(ts *testscript.TestScript, neg bool, args []string) {
	use(ts, neg, args, 1, "release JOB")
	if n := s.bed.Provider.Release(args[0]); n != 1 {
		ts.Fatalf("%d requests about %s were held, want 1", n, args[0])
	}
}

// until waits until a wait is in a phase.
func (s scripts) until(ts *testscript.TestScript, neg bool, args []string) {
	use(ts, neg, args, 2, "until WORKFLOW-ID PHASE")
	ctx, cancel := context.WithTimeout(context.Background(), scriptPatience)
	defer cancel()
	_, err := s.bed.Until(ctx, s.bed.Client.GetWorkflow(ctx, args[0], ""), func(view wire.OperationView) bool {
		return string(view.Phase) == args[1]
	})
	ts.Check(err)
}

// forgetFirstRun deletes the first run of a wait, as the namespace's retention would.
func (s scripts) forgetFirstRun(ts *testscript.TestScript, neg bool, args []string) {
	use(ts, neg, args, 1, "forget-first-run WORKFLOW-ID")
	ctx, cancel := context.WithTimeout(context.Background(), scriptPatience)
	defer cancel()
	runs, err := s.bed.Runs(ctx, args[0], "")
	ts.Check(err)
	if len(runs) < 2 {
		ts.Fatalf("%s has one run only", args[0])
	}
	_, err = s.bed.Client.WorkflowService().DeleteWorkflowExecution(ctx, &workflowservice.DeleteWorkflowExecutionRequest{
		Namespace: s.bed.Namespace, WorkflowExecution: &commonpb.WorkflowExecution{WorkflowId: args[0], RunId: runs[0]},
	})
	ts.Check(err)
	ts.Check(eventually(ctx, func() bool {
		_, err := s.bed.Client.DescribeWorkflow(ctx, args[0], runs[0])
		return err != nil
	}))
}

// eventually looks until it sees.
func eventually(ctx context.Context, look func() bool) error {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for !look() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// interrupted runs a program until it has written a text, sends it a Ctrl-C, and wants an exit code. What it wrote stands in
// the file "interrupted".
func interrupted(ts *testscript.TestScript, neg bool, args []string) {
	use(ts, neg, args, 3, "interrupted CODE TEXT PROGRAM [ARGUMENT...]")
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	ctx, cancel := context.WithTimeout(context.Background(), scriptPatience)
	defer cancel()
	path, err := exec.LookPath(args[2])
	ts.Check(err)
	cmd := exec.CommandContext(ctx, path, args[3:]...)
	cmd.Dir, cmd.Env = ts.MkAbs("."), os.Environ()
	for _, name := range []string{"TEMPORAL_ADDRESS", "TEMPORAL_CLI", "USER"} {
		cmd.Env = append(cmd.Env, name+"="+ts.Getenv(name))
	}
	watch := &watch{text: args[1], seen: make(chan struct{})}
	cmd.Stdout, cmd.Stderr = watch, watch
	ts.Check(cmd.Start())
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case <-watch.seen:
		ts.Check(cmd.Process.Signal(syscall.SIGINT))
		err = <-ended
	case err = <-ended:
		ts.Logf("ended by itself")
	}
	ts.Check(os.WriteFile(ts.MkAbs("interrupted"), watch.content.Bytes(), 0o600))
	if got := cmd.ProcessState.ExitCode(); got != want {
		ts.Fatalf("%v, want exit code %d\n%s", err, want, watch.content.Bytes())
	}
}

// watch is a writer that says when a text came by. It is read after its process has ended.
type watch struct {
	text    string
	content bytes.Buffer
	seen    chan struct{}
	done    bool
}

func (w *watch) Write(data []byte) (int, error) {
	w.content.Write(data)
	if !w.done && bytes.Contains(w.content.Bytes(), []byte(w.text)) {
		w.done = true
		close(w.seen)
	}
	return len(data), nil
}

// freePort sets a variable to an address of this machine that nobody listens on.
func freePort(ts *testscript.TestScript, neg bool, args []string) {
	use(ts, neg, args, 1, "free-port VARIABLE")
	var config net.ListenConfig
	listener, err := config.Listen(context.Background(), "tcp", "127.0.0.1:0")
	ts.Check(err)
	ts.Setenv(args[0], listener.Addr().String())
	ts.Check(listener.Close())
}

// listed waits until the list of escalations, which the server fills a little later, names an operation. Waits of other
// tests on the same server may have no worker, which the list says with an exit code of its own.
func listed(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) == 0 {
		ts.Fatalf("usage: listed OPERATION [FLAG...]")
	}
	use(ts, neg, args[:1], 1, "listed OPERATION [FLAG...]")
	ctx, cancel := context.WithTimeout(context.Background(), scriptPatience)
	defer cancel()
	ts.Check(eventually(ctx, func() bool {
		_ = ts.Exec("starter", append([]string{"escalations"}, args[1:]...)...)
		list := ts.ReadFile("stdout")
		return strings.Contains(list, args[0]+"#1-") || strings.Contains(list, args[0]+"#p1-")
	}))
}

// getInto asks a URL until it answers 200, and writes the body to a file.
func getInto(ts *testscript.TestScript, neg bool, args []string) {
	use(ts, neg, args, 2, "get URL FILE")
	ctx, cancel := context.WithTimeout(context.Background(), scriptPatience)
	defer cancel()
	var body []byte
	err := eventually(ctx, func() bool {
		got, err := fetchBody(ctx, args[0])
		body = got
		return err == nil
	})
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), body, 0o600))
}

// gone waits until a URL does not answer 200 any more.
func gone(ts *testscript.TestScript, neg bool, args []string) {
	use(ts, neg, args, 1, "gone URL")
	ctx, cancel := context.WithTimeout(context.Background(), scriptPatience)
	defer cancel()
	ts.Check(eventually(ctx, func() bool {
		_, err := fetchBody(ctx, args[0])
		return err != nil
	}))
}

func fetchBody(ctx context.Context, url string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return nil, err
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s answered %s", url, answer.Status)
	}
	return io.ReadAll(answer.Body)
}
