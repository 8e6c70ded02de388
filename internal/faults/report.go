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

// Report is what a run has shown.
type Report struct {
	Options    Options
	Took       time.Duration
	Violations []check.Violation

	// Waits, Runs and Events are what was checked; Requests and Cancels are the provider's.
	Waits, Runs, Events, Requests, Cancels int
	// Lost are requests whose answer did not come through; Refused are second callers that were turned away.
	Lost, Refused int
	// Holds are answers that kept other waits away; HeldBack are requests that were held back for them.
	Holds, HeldBack int
	// Outcomes by status, Faults by action, Decisions by kind.
	Outcomes, Faults, Decisions map[string]int

	failure error
}

// checked is what one wait adds to a report.
type checked struct {
	runs, events, lost, heldBack int
	outcome                      string
}

func (r *run) newReport(runs map[string][]listed, requests map[string][]check.Request) Report {
	report := Report{
		Options: r.options, Took: time.Since(r.began), Refused: r.refuse, Violations: r.rivals,
		Outcomes: map[string]int{}, Faults: map[string]int{}, Decisions: maps.Clone(r.people.counts),
	}
	for action, n := range r.done {
		report.Faults[string(action)] = n
	}
	for _, of := range requests {
		for _, request := range of {
			report.Requests += one(request.Kind == "status")
			report.Cancels += one(request.Kind == "cancel")
		}
	}
	if extra := len(runs) - len(r.plan.Waits); extra > 0 {
		report.Violations = append(report.Violations, check.Violation{Rule: check.RuleOwner, Text: fmt.Sprintf("%d workflow ids too many", extra)})
	}
	return report
}

func one(yes bool) int {
	if yes {
		return 1
	}
	return 0
}

func (r *Report) add(c checked, err error) {
	r.Waits++
	r.Runs += c.runs
	r.Events += c.events
	r.Lost += c.lost
	r.HeldBack += c.heldBack
	r.Outcomes[c.outcome]++
	r.failure = errors.Join(r.failure, err)
}

// count reads off a wait what a report counts.
func count(w check.Wait) checked {
	c := checked{runs: len(w.Runs), outcome: "open"}
	for _, run := range w.Runs {
		c.events += len(run.History.GetEvents())
		for _, event := range run.History.GetEvents() {
			if event.GetActivityTaskStartedEventAttributes().GetLastFailure().GetApplicationFailureInfo().GetType() == wire.ErrorHeldBack {
				c.heldBack++
			}
			if event.GetEventType() == enumspb.EVENT_TYPE_ACTIVITY_TASK_TIMED_OUT {
				c.lost++
			}
			if done := event.GetWorkflowExecutionCompletedEventAttributes(); done != nil {
				c.outcome = status(done.GetResult().GetPayloads()[0].GetData())
			}
		}
	}
	return c
}

func status(data []byte) string {
	var outcome wire.Outcome
	if err := json.Unmarshal(data, &outcome); err != nil {
		return "unreadable"
	}
	return string(outcome.Status)
}

// Write tells people what the run has shown.
func (r Report) Write(to io.Writer) {
	line := func(name, format string, args ...any) {
		_, _ = fmt.Fprintf(to, "%-16s %s\n", name, fmt.Sprintf(format, args...))
	}
	line("seed", "%d", r.Options.Seed)
	line("waits", "%d in %d runs, %d events; faults for %s with %d workers, %s in all",
		r.Waits, r.Runs, r.Events, r.Options.For, r.Options.Workers, r.Took.Round(time.Second))
	line("provider", "%d status requests, %d cancels; %d activities timed out", r.Requests, r.Cancels, r.Lost)
	line("shared holds", "%d answers held others back, %d requests waited for them", r.Holds, r.HeldBack)
	line("outcomes", "%s", words(r.Outcomes))
	line("faults", "%s", words(r.Faults))
	line("decisions", "%s", words(r.Decisions))
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
