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
	flags.StringVar(&o.docs, "docs", "docs", "folder of schedules.md with its plots, and of fleets.md")
	flags.StringVar(&o.only, "only", "", "write this one table: results, gains, mistold, fleets, returns, crowds or throttles")
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

// write makes the tables anew, or the one that is wanted, each in its page.
func (o options) write(progress io.Writer) error {
	studies := sync.OnceValue(func() []simulate.Study { return o.studies(progress, o.setting().Study) })
	pages, written := map[string]string{}, 0
	for _, block := range o.blocks(progress, studies) {
		if o.only != "" && o.only != block.name {
			continue
		}
		if err := o.replace(pages, block); err != nil {
			return err
		}
		written++
	}
	switch {
	case written == 0:
		return fmt.Errorf("-only %q: there is no such table", o.only)
	case o.only == "":
		pages["schedules-cost.svg"], pages["schedules-load.svg"] = simulate.CostFigure(studies()), simulate.LoadFigure(o.seed)
	}
	return o.save(pages)
}

// replace puts a table into its page, which is read when the first of its tables comes.
func (o options) replace(pages map[string]string, block block) (err error) {
	if _, ok := pages[block.page]; !ok {
		data, err := os.ReadFile(filepath.Join(o.docs, block.page))
		if err != nil {
			return err
		}
		pages[block.page] = string(data)
	}
	pages[block.page], err = simulate.Replace(pages[block.page], block.name, block.text())
	return err
}

// block is a table by its page and its name.
type block struct {
	page, name string
	text       func() string
}

func (o options) blocks(progress io.Writer, studies func() []simulate.Study) []block {
	const schedules, fleets = "schedules.md", "fleets.md"
	return []block{
		{schedules, "results", func() string { return simulate.ResultTables(studies()) }},
		{schedules, "gains", func() string {
			if o.only != "" {
				return simulate.GainTable(o.studies(progress, o.setting().StudyFrontiers))
			}
			return simulate.GainTable(studies())
		}},
		{schedules, "mistold", o.mistold},
		{schedules, "fleets", func() string { return simulate.HerdTable(o.herds(progress)) }},
		{schedules, "returns", func() string {
			return simulate.ReturnTable(simulate.Returns(
				1000, o.seed, 30, 3*time.Second, 8*time.Second, 20*time.Second, time.Minute, 10*time.Minute,
			))
		}},
		{fleets, "crowds", func() string { return simulate.CrowdTable(o.crowds(progress)) }},
		{fleets, "throttles", func() string { return simulate.ThrottleTable(simulate.Throttles(), o.seed) }},
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

// crowds share the lanes of their workers.
func (o options) crowds(progress io.Writer) []simulate.CrowdRow {
	var rows []simulate.CrowdRow
	for _, crowd := range simulate.Crowds() {
		fmt.Fprintf(progress, "playing: %d waits, %d workers, %s\n", crowd.Waits, crowd.Processes, crowd.Name)
		rows = append(rows, crowd.Measure(o.pool/1000, o.seed))
	}
	return rows
}

func (o options) save(files map[string]string) error {
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(o.docs, name), []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}
