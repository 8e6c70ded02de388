// Package activities contains the activities of jobwait, the only part of it that does I/O: they validate specs, send status, cancel
// and submit requests to providers, download results, and notify people.
//
// One execution of [Activities.PollStatus], [Activities.CancelAtProvider] or [Activities.Submit] sends at most one HTTP request, and
// never repeats one that may have been sent. Whatever forbids a request is checked before the first byte is sent: a reset of the
// workflow, a credential that was denied or is bound to another provider, a URL at another origin, a private address, a deadline
// that has passed.
//
// Results contain no credential and no body. Errors and log lines contain no URL either: they name the entry and the rule.
package activities
