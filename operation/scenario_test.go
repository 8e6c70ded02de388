package operation_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobwait/jobwait/operation"
)

var update = flag.Bool("update", false, "rewrite the stories of testdata/*.txt")

// divider separates a script, which is written by hand, from its story, which -update rewrites.
const divider = "\n--- story ---\n"

// TestScenario plays every script of testdata: a provider and people whose answers are given, the values that must come
// out (lines "expect", written by hand), and the whole story of commands and audit entries. testdata/README.md describes
// the format. Each script is played twice: in one run, and carried over to a new run at every quiet moment (R49).
func TestScenario(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join("testdata", "*.txt"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			t.Parallel()
			playFile(t, file)
		})
	}
}

func playFile(t *testing.T, file string) {
	t.Helper()
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	head, want, _ := strings.Cut(string(data), divider)
	head = strings.TrimRight(head, "\n")

	played := play(t, parseScript(t, head), false)
	carried := play(t, parseScript(t, head), true)
	require.Equal(t, played.story(), carried.story(), "carried over to new runs, the wait goes another way")
	if played.script.submission == nil { // which may end with its first answer
		require.Positive(t, carried.runs, "this script never comes to rest, so that nothing was carried over")
	}
	require.Zero(t, operation.VerifyChain("", played.entries))
	for _, expect := range played.script.expects {
		expect.check(t, played)
	}
	if *update {
		require.NoError(t, os.WriteFile(file, []byte(head+"\n"+divider+played.story()), 0o600))
		return
	}
	require.Equal(t, want, played.story())
}

// playedScript is a script with what came of it.
type playedScript struct {
	*shell

	script *script
	lines  []string
	told   int
}

func (p *playedScript) story() string { return strings.Join(p.lines, "\n") + "\n" }

func play(t *testing.T, script *script, carry bool) *playedScript {
	t.Helper()
	p := &playedScript{script: script}
	p.shell = script.shell(t)
	p.carry = carry
	p.seen = p.tell
	p.run(t)
	p.sayf("outcome: %s", p.outcomeLine())
	return p
}

func (p *playedScript) sayf(format string, args ...any) {
	p.lines = append(p.lines, fmt.Sprintf(format, args...))
}

// tell writes the entries since the last command, then the command.
func (p *playedScript) tell(command operation.Command) {
	p.lines = append(p.lines, operation.StoryOf(p.entries[p.told:])...)
	p.told = len(p.entries)
	clock := p.now.Format("15:04:05.000")
	switch command := command.(type) {
	case operation.SendStatus:
		p.sayf("  > %s send %q, not after %s", clock, command.Summary, command.StartBy.Format("15:04:05"))
	case operation.SendCancel:
		p.sayf("  > %s send the cancel request", clock)
	case operation.SendSubmit:
		p.sayf("  > %s send %q, not after %s", clock, command.Summary, command.StartBy.Format("15:04:05"))
	case operation.AwaitSubmitted:
		p.sayf("  > %s have job %s waited for", clock, command.Spec.ProviderJobID)
	case operation.Notify:
		handed := ""
		if command.HandOver {
			handed = ", by a workflow of its own"
		}
		p.sayf("  > %s tell people: %s%s", clock, command.Request.Notification.Kind, handed)
	case operation.Wait:
		if !command.Until.IsZero() && !command.Until.Equal(p.alarmFor) {
			p.sayf("  > %s wait until %s: %s", clock, command.Until.Format("15:04:05.000"), command.Summary)
		}
	case operation.LearnKeys:
		p.sayf("  > %s which keys are trusted?", clock)
	case operation.Close:
	}
}
