// Package activities is the only code of jobwait that touches the world: one status request, one cancel request, one request
// that submits, the download of a result, one notification, and the first recorded step of each workflow.
//
// One execution of [Activities.PollStatus], [Activities.CancelAtProvider] or [Activities.Submit] sends at most one HTTP request, and
// nothing that may have been sent is repeated here. Everything that can refuse a request refuses it before a byte of it leaves:
// a reset of the workflow, a credential that was denied or is bound elsewhere, a URL of another origin, a private
// address, a deadline that has passed.
//
// Results hold no credential and no body. Errors and log lines hold no URL either: they name the entry and the rule.
package activities
