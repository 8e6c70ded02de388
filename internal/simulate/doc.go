// Package simulate plays many waits in simulated time, to compare schedules by what they cost and how soon they see that a
// job has ended. Our own schedule is the real one: package operation decides, as it does inside a workflow. The schedules
// of other libraries are stated anew from their documentation. Nothing here waits, sends or imports Temporal.
//
// The command in ./cmd writes docs/schedules.md and its plots.
package simulate
