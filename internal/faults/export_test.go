package faults

import (
	"github.com/jobwait/jobwait/internal/child"
	"github.com/jobwait/jobwait/internal/faults/check"
	"github.com/jobwait/jobwait/waittest"
)

// Remaining is what is left of scripts after these requests.
var Remaining = remaining

// Overlay writes the mutated files into a directory.
func (m Mutant) Overlay(root, dir string) (string, error) { return m.overlay(root, dir) }

// SteppedClock writes a standard library whose clock jumps.
var SteppedClock = steppedClock

// Script is what a provider has left to answer that knows no jobs but those that are submitted.
func Script(reports map[string]waittest.SubmitScript, log []check.Request) waittest.ProviderScript {
	return (&provider{reports: reports}).script(log)
}

// Next writes the files of tomorrow's version into a directory.
func Next(root, dir string) (string, error) { return overlay(root, dir, nextEdits()) }

// Supervise starts a worker of that command in the one place that there is, while the server is away. end ends it.
func Supervise(dir string, command child.Command, fail func(error)) (end func() error, err error) {
	w := newWorkers(Options{Dir: dir}, func(Fault) child.Command { return command }, fail)
	w.serverLeaves()
	return w.close, w.start(Fault{Build: New})
}
