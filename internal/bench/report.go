package bench

import (
	"context"
	"fmt"
	"os/exec"
	"runtime"
	"strings"
	"time"
)

// Report is what a run found.
type Report struct {
	Date      time.Time `json:"date"`
	Commit    string    `json:"commit,omitempty"`
	Go        string    `json:"go"`
	Server    string    `json:"server"`
	Processor string    `json:"processor"`
	Cores     int       `json:"cores"`
	// LoadBefore and LoadAfter are the machine's load averages over one minute; empty where the system does not tell.
	LoadBefore string   `json:"load_before,omitempty"`
	LoadAfter  string   `json:"load_after,omitempty"`
	Minutes    float64  `json:"minutes"`
	Figures    []Figure `json:"figures"`

	samples map[sample][]float64
}

// sample names what was measured of whom.
type sample struct{ figure, side string }

// Figure is one figure of both sides. Ratio is the wait's over the bare loop's.
type Figure struct {
	Name    string    `json:"name"`
	Unit    string    `json:"unit,omitempty"`
	Bare    []float64 `json:"bare"`
	Jobwait []float64 `json:"jobwait"`
	Ratio   float64   `json:"ratio"`
	// Target in words; empty: the figure is only shown.
	Target string `json:"target,omitempty"`
	// Met says whether the target is met. Without one it is true.
	Met bool `json:"met"`
}

func newReport(server string) *Report {
	processor, load := machine()
	return &Report{
		Date: time.Now().UTC().Truncate(time.Second), Go: runtime.Version(), Server: server,
		Processor: processor, Cores: runtime.NumCPU(), LoadBefore: load, samples: map[sample][]float64{},
	}
}

// commit is what the working directory holds, with a plus where files have changes; empty outside of a checkout.
func commit(ctx context.Context) string {
	head, err := exec.CommandContext(ctx, "git", "rev-parse", "--short=12", "HEAD").Output()
	if err != nil {
		return ""
	}
	name := strings.TrimSpace(string(head))
	if changes, err := exec.CommandContext(ctx, "git", "status", "--porcelain").Output(); err != nil || len(changes) > 0 {
		name += "+"
	}
	return name
}

func (r *Report) end(ctx context.Context) {
	_, r.LoadAfter = machine()
	r.Commit = commit(ctx)
	r.Minutes = float64(time.Since(r.Date).Round(time.Second)) / float64(time.Minute)
}

// add takes in what one turn measured of one side.
func (r *Report) add(figure, side string, value float64) {
	key := sample{figure, side}
	r.samples[key] = append(r.samples[key], value)
}

func (r *Report) median(figure, side string) float64 { return median(r.samples[sample{figure, side}]) }

// target is what a figure has to be. The zero value asks for nothing.
type target struct {
	text string
	met  func(jobwait, ratio float64) bool
}

// rounding forgives what is below the precision of a ratio of exact counts.
const rounding = 1e-9

func ratioBelow(limit float64) target {
	return target{fmt.Sprintf("under %g times", limit), func(_, ratio float64) bool { return ratio < limit }}
}

func below(limit float64) target {
	return target{fmt.Sprintf("under %g", limit), func(jobwait, _ float64) bool { return jobwait < limit }}
}

func ratioAtMost(limit float64) target {
	return target{fmt.Sprintf("at most %g times", limit), func(_, ratio float64) bool { return ratio <= limit+rounding }}
}

func ratioAtLeast(limit float64) target { //nolint:unparam // it reads like its siblings
	return target{fmt.Sprintf("at least %g times", limit), func(_, ratio float64) bool { return ratio >= limit }}
}

func equal() target {
	return target{"equal", func(_, ratio float64) bool { return ratio > 1-rounding && ratio < 1+rounding }}
}

func under(limit float64) target {
	return target{fmt.Sprintf("under %g", limit), func(jobwait, _ float64) bool { return jobwait < limit }}
}

func all(value float64) target {
	return target{fmt.Sprintf("%g", value), func(jobwait, _ float64) bool { return jobwait >= value }}
}

// figure puts what was added under a name into the report. What nobody measured stays out of it.
func (r *Report) figure(name, unit string, want target) {
	f := Figure{
		Name: name, Unit: unit, Bare: r.samples[sample{name, roleBare}], Jobwait: r.samples[sample{name, roleJobwait}],
		Target: want.text, Met: true,
	}
	if len(f.Jobwait) == 0 {
		return
	}
	if bare := median(f.Bare); bare != 0 {
		f.Ratio = median(f.Jobwait) / bare
	}
	if want.met != nil {
		f.Met = want.met(median(f.Jobwait), f.Ratio)
	}
	r.Figures = append(r.Figures, f)
}

// addWindow takes in the CPU time of a window, where the system tells it.
func (r *Report) addWindow(when, side string, w window) {
	if w.worker == 0 && w.server == 0 {
		return
	}
	r.add("worker CPU per poll "+when, side, milliseconds(w.worker)/float64(w.polls))
	r.add("server CPU per poll "+when, side, milliseconds(w.server)/float64(w.polls))
}
