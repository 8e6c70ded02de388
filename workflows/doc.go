// Package workflows is the durable shell around package operation. AwaitJob waits for a job, SubmitAndAwait submits a job and has
// AwaitJob wait for it, FetchResult copies the result of a job, and TellPeople delivers the last message of a wait.
//
// The shell passes on what has arrived (decisions, answers, fired timers), asks the core what to do next, and does exactly that. It
// contains no rules. A change to the order of its commands would break the replay of open waits, so it goes behind a version
// marker; see PATCHES.md.
package workflows
