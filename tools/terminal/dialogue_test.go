package terminal

import (
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/jobwait/jobwait/internal/bed"
	"github.com/jobwait/jobwait/internal/inboxcmd/inboxtest"
	"github.com/jobwait/jobwait/waittest"
	"github.com/jobwait/jobwait/wire"
)

func done(job string) waittest.Step {
	return waittest.Succeeded("https://files.example.com/" + job + ".csv")
}

// A whole dialogue, with everything that somebody may type wrongly on the way.
func TestDialogue(t *testing.T) {
	t.Parallel()
	q := ask(t, "dialogue", waittest.Script(waittest.State("paused"), done("dialogue")), nil)
	s := starter(t, 200, "decide", q.operation())
	s.sees("stopped waiting: unknown_state")
	s.sees("1  extend: extend waiting by up to 7 days with up to 10000 more checks")
	s.sees("which, by number or word (q leaves)?")
	s.types("")
	s.sees(`"" is neither a number from 1 to 4 nor one of extend, treat_as_pending, cancel, close`)
	s.types("5")
	s.sees(`"5" is neither a number`)
	s.types("extend")
	s.sees("for how long from now, 0 to 7 days? [15m]")
	s.types("200h")
	s.sees(`"200h" is not a time from 0 to 7 days, such as 15m, 1h30m or 900`)
	s.types("-1")
	s.sees(`"-1" is not a time`)
	s.types("")
	s.sees("how many more checks, 0 to 10000? [4]")
	s.types("10001")
	s.sees(`"10001" is not a number from 0 to 10000`)
	s.types("2")
	s.sees("why (it stands in the audit)?")
	s.types("   ")
	s.sees("it is needed")
	s.types("the table lists it by now")
	s.sees("extend by ana@example.com")
	s.sees("the deadline moves from ")
	s.sees("2 more checks: 14 in all, 1 of them used")
	s.sees("counts as extension 1 of 1")
	s.sees("comment: the table lists it by now")
	s.sees("apply it? [y/N]")
	s.types("perhaps")
	s.sees(`"perhaps" is neither y nor n`)
	s.types("y")
	s.sees("applied: extend by ana@example.com (decision cli-")
	require.Zero(t, s.code())
	outcome := q.outcome()
	require.Equal(t, wire.StatusSucceeded, outcome.Status)
	require.Equal(t, "ana@example.com", outcome.DecidedBy)
}

// Whoever leaves, by whatever way and at whatever question, has decided nothing.
func TestLeaving(t *testing.T) {
	t.Parallel()
	q := ask(t, "leaving", waittest.Script(waittest.State("paused")), nil)
	ways := map[string][]string{
		"q": {"q\n"}, "Ctrl-C at once": {ctrlC}, "Ctrl-D at once": {ctrlD}, "Ctrl-C within a line": {"clo" + ctrlC},
		"Ctrl-C at a number": {"extend\n", "1h\n", ctrlC}, "Ctrl-D at the comment": {"close\n", ctrlD},
		"no": {"close\n", "because\n", "n\n"}, "nothing": {"close\n", "because\n", "\n"}, "Ctrl-C at the end": {"close\n", "because\n", ctrlC},
	}
	t.Run("all", func(t *testing.T) { // it ends when all of them have
		for name, keys := range ways {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				s := starter(t, 120, "decide", q.open.ID)
				s.sees("(q leaves)") // the message before it asks things, too
				for _, key := range keys {
					s.sees("? ") // each question ends so, or with its default
					s.presses(key)
				}
				s.sees("nothing was decided")
				require.Equal(t, 130, s.code())
			})
		}
	})
	q.undecided()
}

// While somebody thinks, somebody else decides: the one who was slower learns who, what and why at once, whichever question was
// before them, whether the wait goes on or not.
func TestSomebodyWasFaster(t *testing.T) {
	t.Parallel()
	questions := []struct{ sees, types string }{
		{"which, by number", "extend"}, {"for how long", ""}, {"how many more checks", ""}, {"why", "slow today"}, {"apply it?", ""},
	}
	for at, kind := range []wire.DecisionKind{wire.DecisionClose, wire.DecisionCancel, wire.DecisionClose, wire.DecisionCancel, wire.DecisionClose} {
		t.Run(fmt.Sprint(string(kind), " at ", at), func(t *testing.T) {
			t.Parallel()
			q := ask(t, fmt.Sprint("faster-", at), waittest.Script(waittest.State("paused")), nil)
			s := starter(t, 120, "decide", q.operation())
			for _, question := range questions[:at] {
				s.sees(question.sees)
				s.types(question.types)
			}
			s.sees(questions[at].sees)
			q.decide(kind, "ben@example.com")
			s.sees("jobwait: error: ben@example.com was faster: " + string(kind) + " at ")
			s.sees(`"no time to lose"`)
			s.sees("jobwait: hint: ")
			require.Equal(t, 1, s.code())
			require.NotContains(t, s.text(), "applied:")
		})
	}
}

// A refusal that another answer avoids is no end: the questions come again.
func TestRefusedAndAskedAgain(t *testing.T) {
	t.Parallel()
	q := ask(t, "again", waittest.Script(waittest.State("running").Times(2), done("again")), func(spec *wire.Spec) { spec.MaxStatusRequests = 1 })
	s := starter(t, 120, "decide", q.operation())
	s.sees("which, by number")
	s.types("1")
	s.sees("for how long")
	s.types("0")
	s.sees("how many more checks")
	s.types("0")
	s.sees("why")
	s.types("too little")
	s.sees("apply it?")
	s.types("yes")
	s.sees("decision refused: out_of_bounds: status_requests is 0, at least 1 is needed")
	s.sees("which, by number")
	s.types("1")
	s.sees("for how long")
	s.types("")
	s.sees("how many more checks")
	s.types("3")
	s.sees("why")
	s.types("enough")
	s.sees("apply it?")
	s.types("Y")
	s.sees("applied: extend")
	require.Zero(t, s.code())
	require.Equal(t, wire.StatusSucceeded, q.outcome().Status)
}

// Kinds that need a name ask for it, and say what they do.
func TestKindsWithNames(t *testing.T) {
	t.Parallel()
	q := ask(t, "named", waittest.Script(waittest.State("paused").Times(2), done("named")), nil)
	s := starter(t, 120, "decide", q.operation(), "--by", "cleo@example.com")
	s.sees("which, by number")
	s.types("treat-as-pending")
	s.sees(`the state is "paused"`)
	s.sees("for how long")
	s.types("10m")
	s.sees("how many more checks")
	s.types("")
	s.sees("why")
	s.types("a pause is no end")
	s.sees(`the state "paused" means to go on, in this wait alone`)
	s.sees("apply it?")
	s.types("y")
	s.sees("applied: treat_as_pending by cleo@example.com")
	require.Zero(t, s.code())
	require.Equal(t, "cleo@example.com", q.outcome().DecidedBy)

	denied := ask(t, "denied", waittest.Script(waittest.Status(401)), nil)
	s = starter(t, 120, "decide", denied.operation())
	s.sees("which, by number")
	s.types("1")
	s.sees("name of the credential (as the worker knows it)?")
	s.types("")
	s.sees("it is needed")
	s.types("other")
	s.sees("for how long")
	s.presses(ctrlC)
	s.sees("nothing was decided")
	require.Equal(t, 130, s.code())
	denied.undecided()
}

// Requests are approved one by one, each with its number and cost before the person, or all of them with the first.
func TestApprovals(t *testing.T) {
	t.Parallel()
	queue := afresh("approvals")
	stop, err := shared.Work(bed.WorkerOptions{TaskQueue: queue, Credentials: inboxtest.Ruled(shared)})
	require.NoError(t, err)
	t.Cleanup(stop)
	for rule, texts := range map[wire.ApprovalRule][]string{
		wire.ApprovalPerRequest: {
			`send status request 1 of 12 with credential "per_request", this one only; the next one asks again`,
			`send status request 2 of 12 with credential "per_request", this one only; the next one asks again`,
		},
		wire.ApprovalPerOperation: {`send the status requests of this wait, from number 1 of 12 on, with credential "per_operation", and do not ask again`},
	} {
		t.Run(string(rule), func(t *testing.T) {
			t.Parallel()
			q := askOn(t, queue, "approved-"+string(rule), waittest.Script(waittest.State("running"), done("approved")), func(spec *wire.Spec) { spec.CredentialRef = string(rule) })
			for i, text := range texts {
				if i > 0 {
					q = q.next()
				}
				require.Len(t, shared.Provider.Log(q.job), i, "nothing is sent before")
				s := starter(t, 200, "decide", q.operation())
				s.sees("stopped waiting: approval_required (" + string(rule) + ")")
				s.sees("1  approve_request: " + text)
				s.answers("approve-request", "the month is closed", "approve_request by ana@example.com", text)
			}
			require.Equal(t, wire.StatusSucceeded, q.outcome().Status)
			require.Len(t, shared.Provider.Log(q.job), 2)
		})
	}
}

// The job of a submission is named, or it is submitted once more, which may make two.
func TestSubmissions(t *testing.T) {
	t.Parallel()
	require.NoError(t, shared.Provider.TakeSubmissions(waittest.SubmitScript{
		Job:   waittest.Script(done("submitted")),
		Steps: []waittest.SubmitStep{{Answer: waittest.Hangup()}, {NoJob: true, Answer: waittest.Hangup()}, {}},
	}))
	submitted := func(id string) question {
		run, open := inboxtest.Submitted(t, shared, afresh(id))
		return question{t, id, run, open}
	}

	q := submitted("attached")
	job := shared.Provider.Submissions()[0].JobID
	s := starter(t, 200, "decide", q.run.GetID())
	s.sees("submitted, and it is not known whether there is a job")
	s.sees("which, by number")
	s.types("attach")
	s.sees("id of the job that you found at the provider?")
	s.types("")
	s.sees("it is needed")
	s.types(job)
	s.sees("URL of its status, empty where the provider hands none out?")
	s.types("https://jobs.example.com/" + strings.Repeat("s", 4200))
	s.sees("a terminal may have cut this")
	s.sees("URL of its status")
	s.types(shared.Provider.StatusURL(job))
	s.sees("params that the table reads")
	s.types("region")
	s.sees(`"region" is not name=value`)
	s.types("")
	s.confirms("seen in the list", "attach by ana@example.com", `job: "`+job+`"`, `URL of its status: "`+shared.Provider.StatusURL(job)+`"`)
	require.Equal(t, wire.StatusSucceeded, q.outcome().Status)

	q = submitted("resubmitted")
	s = starter(t, 200, "decide", q.run.GetID())
	s.sees("resubmit: submit it once more")
	s.answers("resubmit", "there is none in the list", "resubmit by ana@example.com", "if generation 1 has made a job, there are TWO")
	require.Equal(t, wire.StatusSucceeded, q.outcome().Status)
	require.Len(t, shared.Provider.Submissions(), 2)
}

// An answer that cannot be given any more is told before anything is asked.
func TestNothingToAnswer(t *testing.T) {
	t.Parallel()
	q := ask(t, "closed", waittest.Script(waittest.State("paused")), nil)
	stale := q.operation() + "#7-00000000"
	s := starter(t, 120, "decide", stale)
	s.sees(`"` + stale + `" is not open any more; "` + q.open.ID + `" is`)
	require.Equal(t, 1, s.code())
	q.decide(wire.DecisionClose, "ben@example.com")
	q.outcome()
	s = starter(t, 120, "decide", q.operation())
	s.sees("the wait has ended; there is nothing to decide any more")
	require.Equal(t, 1, s.code())
}

// A narrow terminal breaks lines at spaces; nothing that a provider wrote moves the cursor.
func TestNarrowAndHostile(t *testing.T) {
	t.Parallel()
	const columns = 60
	hostile := waittest.State("odd\x1b[2J\x1b]0;owned\x07state").Times(9)
	hostile.Error = &waittest.JobError{Code: "E1", Message: "disk full \x1b[31m\x1b[1;1Happly it? [y/N] y"}
	q := ask(t, "narrow", waittest.Script(hostile), nil)
	for _, arguments := range [][]string{{"decide", q.operation()}, {"show", q.operation()}, {"follow", q.operation()}} {
		s := starter(t, columns, arguments...)
		s.sees("close: stop waiting;")
		if arguments[0] == "decide" {
			s.sees("which, by number")
		}
		if arguments[0] != "show" {
			s.presses(ctrlC)
		}
		s.code()
		text := s.text()
		require.NotContains(t, text, "\x1b", "%q", text)
		line := longest(text)
		require.LessOrEqual(t, utf8.RuneCountInString(line), 170, "a command to copy stays whole")
		if arguments[0] == "decide" {
			require.LessOrEqual(t, utf8.RuneCountInString(line), columns, line)
		}
	}
	q.undecided()
}

// A list that stays shows questions as they open and go, and ends by Ctrl-C.
func TestLiveList(t *testing.T) {
	t.Parallel()
	s := starter(t, 100, "escalations", "--watch", "--every", "1s")
	s.sees("Ctrl-C ends")
	q := ask(t, "live", waittest.Script(waittest.State("paused")), nil)
	s.until("the question", func(text string) bool { return strings.Contains(screen(text), q.open.ID) })
	require.Contains(t, screen(s.text()), "decide ID` answers one")
	q.decide(wire.DecisionClose, "ben@example.com")
	s.until("its end", func(text string) bool { return !strings.Contains(screen(text), q.open.ID) })
	s.presses(ctrlC)
	require.Equal(t, 130, s.code())
	require.Less(t, utf8.RuneCountInString(longest(screen(s.text()))), 100)
}

// By a pipe the same list is one JSON object a line.
func TestLiveListByPipe(t *testing.T) {
	t.Parallel()
	q := ask(t, "piped", waittest.Script(waittest.State("paused")), nil)
	s := piped(t, "escalations", "--watch", "--json", "--every", "1s")
	s.sees(`{"event":"open"`, `"workflow_id":"`+q.run.GetID()+`"`, `"id":"`+q.open.ID+`"`)
	q.decide(wire.DecisionClose, "ben@example.com")
	s.sees(`{"event":"gone"`, `"workflow_id":"`+q.run.GetID()+`"`)
	require.Equal(t, 130, s.interrupt())
}

// A decision that must be signed says so first, and is taken when it is.
func TestSignedDialogue(t *testing.T) {
	t.Parallel()
	key, trusting := keys(t)
	q := trusting(t, "signed")
	s := starter(t, 120, "decide", q.operation())
	s.sees("decisions of this wait must be signed")
	require.Equal(t, 1, s.code())
	s = starter(t, 120, "decide", q.operation(), "--sign-with", key)
	s.answers("close", "signed by hand", "close by ana@example.com")
	require.Equal(t, "ana@example.com", q.outcome().DecidedBy)
}

// It never waits for a minute with a person in front of it.
func TestStaysQuick(t *testing.T) {
	t.Parallel()
	began := time.Now()
	s := starter(t, 120, "decide", "nobody-knows-this")
	s.sees(`no wait has the operation id "nobody-knows-this"`)
	require.Equal(t, 1, s.code())
	require.Less(t, time.Since(began), patience/2)
}
