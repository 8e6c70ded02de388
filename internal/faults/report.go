package faults

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	enumspb "go.temporal.io/api/enums/v1"

	"github.com/jobwait/jobwait/internal/faults/check"
	"github.com/jobwait/jobwait/wire"
)

// Report is the result of a run.
type Report struct {
	Options    Options
	Took       time.Duration
	Violations []check.Violation

	// Waits, Submissions, Runs and Events count what was checked, waits of submissions included. Requests, Cancels, Submits and Made
	// (jobs) are counted by the provider.
	Waits, Submissions, Runs, Events, Requests, Cancels, Submits, Made int
	// Lost counts requests whose answer was lost; Refused counts second callers that were turned away.
	Lost, Refused int
	// Holds counts answers that kept other waits from asking; HeldBack counts requests that were held back for them.
	Holds, HeldBack int
	// Outcomes counts waits by status, Submitted submissions by status, Faults by action, and People decisions by kind.
	Outcomes, Submitted, Faults, People map[string]int

	failure error
}

func (r *run) newReport(requests received) Report {
	report := Report{
		Options: r.options, Took: time.Since(r.began), Refused: r.refuse, Violations: r.rivals,
		Outcomes: map[string]int{}, Submitted: map[string]int{}, Faults: map[string]int{}, People: maps.Clone(r.people.counts),
	}
	for action, n := range r.done {
		report.Faults[string(action)] = n
	}
	for _, of := range requests.byJob {
		for _, request := range of {
			report.Requests += one(request.Kind == "status")
			report.Cancels += one(request.Kind == "cancel")
		}
	}
	for _, of := range requests.submits {
		report.Submits += len(of)
	}
	for _, of := range requests.made {
		report.Made += len(of)
	}
	return report
}

func one(yes bool) int {
	if yes {
		return 1
	}
	return 0
}

func (r *Report) add(s seen) {
	r.Violations = append(r.Violations, s.found...)
	r.failure = errors.Join(r.failure, s.err)
	for _, wait := range s.waits {
		r.Waits++
		r.Outcomes[r.read(wait.Runs)]++
	}
	if s.submission != nil {
		r.Submissions++
		r.Submitted[r.read(s.submission.Runs)]++
	}
}

// read counts what the histories contain, and returns how they ended.
func (r *Report) read(runs []check.Run) (outcome string) {
	outcome = "open"
	r.Runs += len(runs)
	for _, run := range runs {
		r.Events += len(run.History.GetEvents())
		for _, event := range run.History.GetEvents() {
			held := event.GetActivityTaskStartedEventAttributes().GetLastFailure().GetApplicationFailureInfo().GetType() == wire.ErrorHeldBack
			r.HeldBack += one(held)
			r.Lost += one(event.GetEventType() == enumspb.EVENT_TYPE_ACTIVITY_TASK_TIMED_OUT)
			if done := event.GetWorkflowExecutionCompletedEventAttributes(); done != nil {
				outcome = status(done.GetResult().GetPayloads()[0].GetData())
			}
		}
	}
	return outcome
}

func status(data []byte) string {
	var outcome wire.Outcome
	if err := json.Unmarshal(data, &outcome); err != nil {
		return "unreadable"
	}
	return string(outcome.Status)
}

// Write writes the report for people.
func (r Report) Write(to io.Writer) {
	line := func(name, format string, args ...any) {
		_, _ = fmt.Fprintf(to, "%-16s %s\n", name, fmt.Sprintf(format, args...))
	}
	line("seed", "%d", r.Options.Seed)
	line("waits", "%d, and %d submissions, in %d runs, %d events; faults for %s with %d workers and one more, %s in all",
		r.Waits, r.Submissions, r.Runs, r.Events, r.Options.For, r.Options.Workers, r.Took.Round(time.Second))
	line("provider", "%d status requests, %d cancels; %d requests to submit made %d jobs; %d activities timed out",
		r.Requests, r.Cancels, r.Submits, r.Made, r.Lost)
	line("shared holds", "%d answers held others back, %d requests waited for them", r.Holds, r.HeldBack)
	line("outcomes", "%s", words(r.Outcomes))
	line("submissions", "%s", words(r.Submitted))
	line("faults", "%s", words(r.Faults))
	line("people", "%s", words(r.People))
	line("second callers", "%d turned away", r.Refused)
	line("violations", "%d  %s", len(r.Violations), words(check.ByRule(r.Violations)))
	for i, violation := range r.Violations {
		if i == 40 {
			line("", "... and %d more in violations.json", len(r.Violations)-i)
			break
		}
		line("", "%s", violation)
	}
}

func words(counts map[string]int) string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		out = append(out, fmt.Sprintf("%s %d", name, counts[name]))
	}
	return strings.Join(out, ", ")
}
