// Command cmd runs the comparison of schedules and writes its tables and plots into the documentation:
//
//	go run ./internal/simulate/cmd
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/jobwait/jobwait/internal/simulate"
)

func main() {
	if err := run(os.Args[1:], os.Stderr); err != nil {
		if !errors.Is(err, flag.ErrHelp) {
			fmt.Fprintf(os.Stderr, "simulate: error: %v\n", err)
		}
		os.Exit(1)
	}
}

type options struct {
	docs, only string
	jobs, pool int
	seed       uint64
}

func run(args []string, stderr io.Writer) error {
	var o options
	flags := flag.NewFlagSet("simulate", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&o.docs, "docs", "docs", "folder of schedules.md and its plots")
	flags.StringVar(&o.only, "only", "", "write this one table: results, gains, mistold, fleets or returns")
	flags.IntVar(&o.jobs, "jobs", 10_000, "waits of each comparison")
	flags.IntVar(&o.pool, "pool", 10_000, "waits from which fleets of 50 and 1,000 are taken, a multiple of 1,000")
	flags.Uint64Var(&o.seed, "seed", 1, "seed of durations and draws")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if o.jobs < 1 || o.pool < 1000 || o.pool%1000 != 0 {
		return fmt.Errorf("-jobs %d and -pool %d: at least one job, and a pool of whole thousands", o.jobs, o.pool)
	}
	return o.write(stderr)
}

func (o options) write(progress io.Writer) error {
	path := filepath.Join(o.docs, "schedules.md")
	page, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	studies := sync.OnceValue(func() []simulate.Study { return o.studies(progress, o.setting().Study) })
	text, written := string(page), 0
	for _, block := range o.blocks(progress, studies) {
		if o.only != "" && o.only != block.name {
			continue
		}
		if text, err = simulate.Replace(text, block.name, block.text()); err != nil {
			return err
		}
		written++
	}
	switch {
	case written == 0:
		return fmt.Errorf("-only %q: there is no such table", o.only)
	case o.only != "":
		return o.save(map[string]string{"schedules.md": text})
	}
	return o.save(map[string]string{
		"schedules.md": text, "schedules-cost.svg": simulate.CostFigure(studies()), "schedules-load.svg": simulate.LoadFigure(o.seed),
	})
}

// block is a table of the page by its name.
type block struct {
	name string
	text func() string
}

func (o options) blocks(progress io.Writer, studies func() []simulate.Study) []block {
	return []block{
		{"results", func() string { return simulate.ResultTables(studies()) }},
		{"gains", func() string {
			if o.only != "" {
				return simulate.GainTable(o.studies(progress, o.setting().StudyFrontiers))
			}
			return simulate.GainTable(studies())
		}},
		{"mistold", o.mistold},
		{"fleets", func() string { return simulate.HerdTable(o.herds(progress)) }},
		{"returns", func() string {
			return simulate.ReturnTable(simulate.Returns(
				1000, o.seed, 30, 3*time.Second, 8*time.Second, 20*time.Second, time.Minute, 10*time.Minute,
			))
		}},
	}
}

func (o options) setting() simulate.Setting {
	return simulate.Setting{
		Jobs: o.jobs, Seed: o.seed, Latency: 200 * time.Millisecond, Window: time.Minute, Budget: 1_000_000,
	}
}

func (o options) studies(progress io.Writer, study func(simulate.Workload) simulate.Study) []simulate.Study {
	var studies []simulate.Study
	for _, workload := range simulate.Workloads() {
		fmt.Fprintf(progress, "comparing: %s\n", workload.Name)
		studies = append(studies, study(workload))
	}
	return studies
}

func (o options) mistold() string {
	results := map[string][]simulate.Comparison{}
	names := []string{"CI run", "nightly report"}
	for _, workload := range simulate.Workloads() {
		if !slices.Contains(names, workload.Name) {
			continue
		}
		for _, told := range []struct {
			name   string
			factor float64
		}{{"none", 0}, {"a third of the truth", 1. / 3}, {"the truth", 1}, {"three times the truth", 3}} {
			results[workload.Name] = append(results[workload.Name], o.setting().Mistold(workload, told.name, told.factor))
		}
	}
	return simulate.MistoldTable(results, names)
}

func (o options) herds(progress io.Writer) []simulate.Herd {
	var herds []simulate.Herd
	for _, fleet := range simulate.Fleets() {
		fmt.Fprintf(progress, "measuring: %s\n", fleet.Name)
		herds = append(herds, fleet.Measure(o.pool, o.seed, 50, 1000)...)
	}
	return herds
}

func (o options) save(files map[string]string) error {
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(o.docs, name), []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}
