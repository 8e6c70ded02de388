package faults

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/jobwait/jobwait/internal/faults/check"
)

// Mutant is a fault planted in the product's code, which the checker has to find.
type Mutant struct {
	Name  string
	Edits []Edit
	// Rule is the rule of the checker that the fault breaks.
	Rule string
}

// Mutants returns the planted faults.
func Mutants() []Mutant {
	return []Mutant{
		{
			Name: "deadline taken five seconds too late", Rule: check.RuleDeadline,
			Edits: []Edit{{"operation/operation.go", "at, reason := limits.DeadlineAt, wire.ReasonDeadlineExceeded", "at, reason := limits.DeadlineAt.Add(5*time.Second), wire.ReasonDeadlineExceeded"}},
		},
		{
			Name: "request budget off by one", Rule: check.RuleBudget,
			Edits: []Edit{
				{"operation/operation.go", "case o.rec.Counters.StatusRequestsUsed >= o.rec.Limits.MaxStatusRequests:", "case o.rec.Counters.StatusRequestsUsed > o.rec.Limits.MaxStatusRequests:"},
				{"operation/schedule.go", "case o.rec.Counters.StatusRequestsUsed >= o.rec.Limits.MaxStatusRequests:", "case o.rec.Counters.StatusRequestsUsed > o.rec.Limits.MaxStatusRequests:"},
			},
		},
		{
			Name: "Retry-After ignored", Rule: check.RuleRetryAfter,
			Edits: []Edit{{"operation/schedule.go", "if minimum := guidance.RetryAfterSeconds; minimum != nil {", "if minimum := guidance.RetryAfterSeconds; minimum != nil && *minimum < 0 {"}},
		},
		{
			Name: "unknown states waited in", Rule: check.RuleStop,
			Edits: []Edit{{"operation/observe.go", "if slices.Contains(o.rec.Overrides, seen.Job.RawState) {", "if seen.Job.RawState != \"\" {"}},
		},
		{
			Name: "cancel sent a second time", Rule: check.RuleCancel,
			Edits: []Edit{{"operation/cancel.go", "o.rec.Cancel, o.rec.LastAnsweredAt = wire.CancelSent, now", "o.rec.LastAnsweredAt = now\n\tif o.rec.Cancel = wire.CancelSent; o.rec.CancelDetail == \"\" {\n\t\to.rec.Cancel = wire.CancelWanted\n\t}"}},
		},
		{
			Name: "counters reset when a run continues as new", Rule: check.RuleCounters,
			Edits: []Edit{{"operation/operation.go", "return &Operation{rec: rec}", "rec.Counters = wire.Counters{}\n\treturn &Operation{rec: rec}"}},
		},
		{
			Name: "a lost request repeated by Temporal", Rule: check.RuleReservation,
			Edits: []Edit{
				{"workflows/await_activities.go", `NonRetryableErrorTypes: []string{"TemporalTimeout:StartToClose", "TemporalTimeout:Heartbeat", "PanicError"}`, `NonRetryableErrorTypes: []string{"PanicError"}`},
				{"activities/lane.go", "return wire.HeldBack{}, errUnproven", "return wire.HeldBack{}, nil"},
			},
		},
		{
			Name: "polling goes on without min_delay", Rule: check.RuleMinDelay,
			Edits: []Edit{{"operation/schedule.go", "return now.Add(o.minDelay())", "return now"}},
		},
		{
			Name: "a nudge passes over Retry-After", Rule: check.RuleRetryAfter,
			Edits: []Edit{{"operation/nudge.go", "if minimum := o.rec.ProviderMinimum; !minimum.IsZero() {", "if minimum := o.rec.ProviderMinimum; minimum.Equal(now) {"}},
		},
		{
			Name: "decisions without a signature applied", Rule: check.RuleSigned,
			Edits: []Edit{
				{"operation/signature.go", `if d.Signature == "" {`, `if d.Signature == "" && d.Kind == "" {`},
				{"operation/signature.go", "if i < 0 {", "if i < 0 {\n\t\treturn nil\n\t}\n\tif i < 0 {"},
			},
		},
		{
			Name: "a submission without a key repeated by Temporal", Rule: check.RuleSubmission,
			Edits: []Edit{
				{"activities/submit.go", "result.HeldBack = heldBack", "result.HeldBack = heldBack\n\tif result.Verdict == wire.SubmitAmbiguous {\n\t\terr = errUnproven\n\t}"},
				{"activities/lane.go", "return wire.HeldBack{}, errUnproven", "return wire.HeldBack{}, nil"},
			},
		},
		{
			Name: "the key of a submission drawn anew for each request", Rule: check.RuleSubmission,
			Edits: []Edit{
				{"operation/submit.go", "Authority: authority, Key: s.Key,", "Authority: authority, Key: anew(s.Key, o.rec.Counters.StatusRequestsUsed),"},
				{"operation/submit.go", "// generationText names", `func anew(key string, n int) string {
	if key == "" {
		return ""
	}
	return key[:len(key)-1] + strconv.Itoa(n%10)
}

// generationText names`},
			},
		},
		{
			Name: "a wait goes on after it was told to stop", Rule: check.RuleStop,
			Edits: []Edit{{"operation/operation.go", "case o.stopping:", "case o.stopping && o.rec.Escalation != nil:"}},
		},
		{
			Name: "a Retry-After beyond the deadline slept over", Rule: check.RuleReason,
			Edits: []Edit{{"operation/schedule.go", "case !o.rec.ProviderMinimum.Before(deadline):", "case !o.rec.ProviderMinimum.Before(deadline) && now.IsZero():"}},
		},
		{
			Name: "given up without asking", Rule: check.RuleReason,
			Edits: []Edit{{"operation/options.go", "return len(options) > 1", "return len(options) > 9"}},
		},
		{
			Name: "nobody approves a credential that wants it", Rule: check.RuleApproval,
			Edits: []Edit{
				{"operation/approval.go", "return !o.rec.Approved", "return false"},
				{"operation/approval.go", "case wire.ApprovalPerRequest:\n\t\treturn true", "case wire.ApprovalPerRequest:\n\t\treturn false"},
			},
		},
		{
			Name: "a credential that was turned down used again", Rule: check.RuleCredential,
			Edits: []Edit{{"operation/operation.go", "if version.Ref == o.rec.CredentialRef {", `if version.Ref == "" {`}},
		},
		{
			Name: "a cancel that was decided never sent", Rule: check.RuleCancel,
			Edits: []Edit{{"operation/decide.go", "o.rec.Cancel, o.rec.Phase = wire.CancelWanted, wire.PhaseCancelling", "o.rec.Cancel, o.rec.Phase = wire.CancelSent, wire.PhaseCancelling\n\t\to.planManual(now)"}},
		},
		{
			Name: "more granted than one decision may", Rule: check.RuleDecision,
			Edits: []Edit{{"operation/decide_refuse.go", "if number.value < 0 || number.value > number.most {", "if number.value < 0 {"}},
		},
	}
}

// overlay writes the mutated files and the list of them that `go build -overlay` reads.
func (m Mutant) overlay(root, dir string) (string, error) {
	list, err := overlay(root, dir, m.Edits)
	if err != nil {
		return "", fmt.Errorf("faults: mutant %q: %w", m.Name, err)
	}
	return list, nil
}

// eventsPerMutantRun makes even a short wait continue as new.
const eventsPerMutantRun = 40

// RunMutants runs each mutant whose name contains the text named, all with the same plan, and reports whether each was caught by
// the rule that it breaks. Histories are not replayed: a replay would notice that other code recorded them, but the checker has to
// find the fault by itself.
func RunMutants(ctx context.Context, options Options, named string, stdout, progress io.Writer) (allCaught bool, err error) {
	mutants := slices.DeleteFunc(Mutants(), func(m Mutant) bool { return !strings.Contains(m.Name, named) })
	if len(mutants) == 0 {
		return false, fmt.Errorf("faults: no mutant's name contains %q", named)
	}
	allCaught = true
	for i, mutant := range mutants {
		dir := filepath.Join(options.Dir, fmt.Sprintf("mutant-%d", i+1))
		report, err := mutant.run(ctx, options, dir, progress)
		if err != nil {
			return false, err
		}
		caught := check.ByRule(report.Violations)
		allCaught = allCaught && caught[mutant.Rule] > 0
		_, _ = fmt.Fprintf(stdout, "%-45s %-12s caught %-5t %s\n", mutant.Name, mutant.Rule, caught[mutant.Rule] > 0, words(caught))
	}
	return allCaught, nil
}

func (m Mutant) run(ctx context.Context, options Options, dir string, progress io.Writer) (Report, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return Report{}, err
	}
	root, err := moduleRoot(ctx)
	if err != nil {
		return Report{}, err
	}
	list, err := m.overlay(root, dir)
	if err != nil {
		return Report{}, err
	}
	binaries, err := BuildBinaries(ctx, dir, options, "-overlay", list)
	if err != nil {
		return Report{}, err
	}
	options.Dir, options.SkipReplay, options.EventsPerRun = dir, true, eventsPerMutantRun
	return Run(ctx, options, binaries, progress)
}
