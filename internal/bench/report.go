package bench

import (
	"context"
	"fmt"
	"os/exec"
	"runtime"
	"strings"
	"time"
)

// Report is the result of a run.
type Report struct {
	Date      time.Time `json:"date"`
	Commit    string    `json:"commit,omitempty"`
	Go        string    `json:"go"`
	Server    string    `json:"server"`
	Processor string    `json:"processor"`
	Cores     int       `json:"cores"`
	// LoadBefore and LoadAfter are the machine's load averages over one minute; empty if the system does not provide them.
	LoadBefore string   `json:"load_before,omitempty"`
	LoadAfter  string   `json:"load_after,omitempty"`
	Minutes    float64  `json:"minutes"`
	Figures    []Figure `json:"figures"`

	samples map[sample][]float64
}

// sample is a figure of one side.
type sample struct{ figure, side string }

// Figure is one figure, measured of both sides; Ratio is the wait's median divided by the bare loop's.
type Figure struct {
	Name    string    `json:"name"`
	Unit    string    `json:"unit,omitempty"`
	Bare    []float64 `json:"bare"`
	Jobwait []float64 `json:"jobwait"`
	Ratio   float64   `json:"ratio"`
	// Target is the target in words; empty if there is none.
	Target string `json:"target,omitempty"`
	// Met reports whether the target is met; true if there is none.
	Met bool `json:"met"`
}

func newReport(server string) *Report {
	processor, load := machine()
	return &Report{
		Date: time.Now().UTC().Truncate(time.Second), Go: runtime.Version(), Server: server,
		Processor: processor, Cores: runtime.NumCPU(), LoadBefore: load, samples: map[sample][]float64{},
	}
}

// commit returns the commit of the working directory, with a plus if files have changed; empty outside a checkout.
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

// add adds a value that one turn measured of one side.
func (r *Report) add(figure, side string, value float64) {
	key := sample{figure, side}
	r.samples[key] = append(r.samples[key], value)
}

func (r *Report) median(figure, side string) float64 { return median(r.samples[sample{figure, side}]) }

// target is a condition for a figure. The zero value has none.
type target struct {
	text string
	met  func(jobwait, ratio float64) bool
}

// rounding is the tolerance for ratios of exact counts.
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

// figure adds a figure with the values of that name to the report, unless there are none.
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

// addWindow adds the CPU times of a window, if the system provides them.
func (r *Report) addWindow(when, side string, w window) {
	if w.worker == 0 && w.server == 0 {
		return
	}
	r.add("worker CPU per poll "+when, side, milliseconds(w.worker)/float64(w.polls))
	r.add("server CPU per poll "+when, side, milliseconds(w.server)/float64(w.polls))
}
