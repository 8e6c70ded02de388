package faults_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jobwait/jobwait/internal/faults"
	"github.com/jobwait/jobwait/internal/faults/check"
	"github.com/jobwait/jobwait/waittest"
)

func minutes(seed uint64) faults.Options {
	return faults.Options{Seed: seed, Waits: 100, For: 5 * time.Minute, Workers: 3, Dir: "unused"}
}

// A seed is enough to repeat a run.
func TestPlanIsDrawnFromItsSeed(t *testing.T) {
	t.Parallel()
	first, again := faults.NewPlan(minutes(1)), faults.NewPlan(minutes(1))
	require.Equal(t, first, again)
	require.NotEqual(t, first.Faults, faults.NewPlan(minutes(2)).Faults)
	calm := minutes(1)
	calm.Calm = true
	require.Empty(t, faults.NewPlan(calm).Faults)
}

// Every script can be played, and no wait outlives the run by its own plan.
func TestPlannedWaitsCanBeRun(t *testing.T) {
	t.Parallel()
	options := minutes(3)
	for _, w := range faults.NewPlan(options).Waits {
		require.NoError(t, w.Script.Validate(), "%s, %s", w.Job, w.Kind)
		require.Less(t, w.Start+w.Life, options.For*11/10, "%s, %s", w.Job, w.Kind)
		require.NotEmpty(t, w.Answers, "%s, %s", w.Job, w.Kind)
		if w.Submit != nil {
			require.NoError(t, waittest.SubmitScript{Job: w.Script, Steps: w.Submit.Steps}.Validate(), w.Kind)
		}
	}
}

// What is broken is mended, and one process is broken in one way at a time.
func TestPlannedFaultsAreMended(t *testing.T) {
	t.Parallel()
	mended := map[faults.Action]faults.Action{
		faults.KillWorker: faults.StartWorker, faults.StopWorker: faults.StartWorker, faults.FreezeWorker: faults.ThawWorker,
		faults.KillServer: faults.StartServer, faults.StopServer: faults.StartServer, faults.StopProvider: faults.StartProvider,
		faults.CrashDatabase: faults.StartDatabase, faults.KillDatabase: faults.StartDatabase,
	}
	type process struct {
		mend   faults.Action
		worker int
	}
	for seed := range uint64(20) {
		broken, kinds := map[process]bool{}, map[faults.Action]bool{}
		options := minutes(seed)
		options.Cluster = []string{"", faults.ClusterPostgres}[seed%2]
		for _, fault := range faults.NewPlan(options).Faults {
			kinds[fault.Do] = true
			if mend, breaks := mended[fault.Do]; breaks {
				require.False(t, broken[process{mend, fault.Worker}], "seed %d: %+v", seed, fault)
				broken[process{mend, fault.Worker}] = true
				continue
			}
			require.True(t, broken[process{fault.Do, fault.Worker}], "seed %d: %+v", seed, fault)
			delete(broken, process{fault.Do, fault.Worker})
		}
		require.Empty(t, broken, "seed %d", seed)
		require.GreaterOrEqual(t, len(kinds), 8, "seed %d", seed)
	}
}

// An upgrade begins with old workers alone, ends with new ones alone, and both are there in between.
func TestPlannedUpgrade(t *testing.T) {
	t.Parallel()
	between := map[faults.Build]bool{}
	for seed := range uint64(20) {
		options := minutes(seed)
		options.OldRevision = "HEAD"
		finished := false
		for _, fault := range faults.NewPlan(options).Faults {
			switch {
			case fault.Do == faults.FinishUpgrade:
				require.False(t, finished, "seed %d", seed)
				finished = true
			case fault.Do != faults.StartWorker:
			case fault.At < 2*time.Minute:
				require.Equal(t, faults.Old, fault.Build, "seed %d: %+v", seed, fault)
			case fault.At >= 3*time.Minute:
				require.Equal(t, faults.New, fault.Build, "seed %d: %+v", seed, fault)
			default:
				between[fault.Build] = true
			}
		}
		require.True(t, finished, "seed %d", seed)
	}
	require.Len(t, between, 2)
}

// A provider that comes back goes on where its log ends.
func TestScriptsGoOnAfterAnOutage(t *testing.T) {
	t.Parallel()
	running, done := waittest.State("running"), waittest.State("succeeded")
	status, cancel := check.Request{Kind: "status", Job: "j"}, check.Request{Kind: "cancel", Job: "j"}
	job := waittest.Script(running.Times(3), done).OnCancel(waittest.Status(202), waittest.State("cancelling"), waittest.State("cancelled"))
	for name, c := range map[string]struct {
		log  []check.Request
		want []waittest.Step
	}{
		"nothing asked":      {nil, []waittest.Step{running.Times(3), done}},
		"within a repeat":    {[]check.Request{status, status}, []waittest.Step{running.Times(1), done}},
		"the last for ever":  {[]check.Request{status, status, status, status, status}, []waittest.Step{done}},
		"after a cancel":     {[]check.Request{status, cancel, status}, []waittest.Step{waittest.State("cancelled")}},
		"another job's":      {[]check.Request{{Kind: "status", Job: "other"}}, []waittest.Step{running.Times(3), done}},
		"something else":     {[]check.Request{{Kind: "other", Job: "j"}}, []waittest.Step{running.Times(3), done}},
		"a cancel on repeat": {[]check.Request{cancel, cancel}, []waittest.Step{waittest.State("cancelling"), waittest.State("cancelled")}},
	} {
		left := faults.Remaining(map[string]waittest.JobScript{"j": job}, c.log)
		require.Equal(t, c.want, left["j"].Steps, name)
	}
}

func TestOptionsValidate(t *testing.T) {
	t.Parallel()
	for want, change := range map[string]func(*faults.Options){
		"0 waits":          func(o *faults.Options) { o.Waits = 0 },
		"for 1s":           func(o *faults.Options) { o.For = time.Second },
		"0 workers":        func(o *faults.Options) { o.Workers = 0 },
		"settle -1s":       func(o *faults.Options) { o.Settle = -time.Second },
		`cluster "oracle"`: func(o *faults.Options) { o.Cluster = "oracle" },
		"no directory":     func(o *faults.Options) { o.Dir = "" },
	} {
		options := minutes(1)
		require.NoError(t, options.Validate())
		change(&options)
		require.ErrorContains(t, options.Validate(), want)
	}
}

// A provider that comes back has the jobs that were submitted, with their keys, and what it has still to answer.
func TestSubmissionsGoOnAfterAnOutage(t *testing.T) {
	t.Parallel()
	running, done := waittest.State("running"), waittest.State("succeeded")
	lost := waittest.SubmitStep{Answer: waittest.Hangup()}
	reports := map[string]waittest.SubmitScript{
		"a": {Job: waittest.Script(running, done), Steps: []waittest.SubmitStep{lost, {}}}, "b": {Job: waittest.Script(done)},
	}
	log := []check.Request{
		{Kind: "submit", Report: "a", Job: "j1", IdempotencyKey: "k", Made: true},
		{Kind: "submit", Report: "a", Job: "j1", IdempotencyKey: "k"},
		{Kind: "status", Job: "j1"},
		{Kind: "submit", Report: "b"},
	}
	script := faults.Script(reports, log)
	require.NoError(t, script.Validate())
	require.Equal(t, []waittest.Submission{{JobID: "j1", Key: "k", Report: "a", Requests: 2}}, script.Submit.Made)
	require.Equal(t, []waittest.Step{done}, script.Jobs["j1"].Steps)
	require.Equal(t, []waittest.SubmitStep{{}}, script.Submit.Reports["a"].Steps)
	require.Equal(t, reports["b"], script.Submit.Reports["b"])
}

// Among the waits are submissions at each provider, signed waits, and people who nudge and propose.
func TestPlannedPeople(t *testing.T) {
	t.Parallel()
	options := minutes(1)
	options.Waits = 48 // as in the short run
	seen, providers := map[string]int{}, map[string]int{}
	for _, w := range faults.NewPlan(options).Waits {
		seen["nudged"] += len(w.Nudges)
		for name, is := range map[string]bool{"submitted": w.Submit != nil, "signed": w.Signed, "granted": w.Propose > 0 && w.Granted, "refused": w.Propose > 0 && !w.Granted} {
			if is {
				seen[name]++
			}
		}
		if w.Submit != nil {
			providers[w.Spec.Provider]++
		}
	}
	require.Len(t, providers, 3)
	require.Equal(t, 12, seen["submitted"])
	for _, name := range []string{"nudged", "signed", "granted", "refused"} {
		require.Positive(t, seen[name], name)
	}
}
