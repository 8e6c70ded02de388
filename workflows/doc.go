// Package workflows is the durable shell around package operation: AwaitJob waits for a job, SubmitAndAwait submits one and has it
// waited for, FetchResult fetches what one left, and a workflow of its own delivers the last messages of each.
//
// The shell takes in what arrived (decisions, answers, fired timers), asks the core what to do next, and does exactly
// that. It holds no rule of its own. A change of the order of its commands breaks the replay of open waits and stands
// behind a version marker; see PATCHES.md.
package workflows
