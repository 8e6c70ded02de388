// Package workflows is the durable shell around package operation: the workflow AwaitJob.
//
// The shell takes in what arrived (decisions, answers, fired timers), asks the core what to do next, and does exactly
// that. It holds no rule of its own. A change of the order of its commands breaks the replay of open waits and stands
// behind a version marker; see PATCHES.md.
package workflows
