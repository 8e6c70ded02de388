// Package operation is the core of jobwait: the rules of one bounded wait as a state machine over values.
//
// The shell around it (package workflows) tells the core what happened and when, and carries out the command that Next
// returns. The core reads no clock, draws no random number and does no I/O: time arrives as a value, and every jitter is
// a pure function of the operation, its first run, the poll number and the purpose. The same events at the same times
// therefore always give the same commands, which is what replay stands on.
//
// For importers are Message, Headline, Story, StoryOf, Span, VerifyChain and EntryHash. Everything else is exported for the
// other packages of the product, and any release may change it.
//
// Rules are named by their numbers (R12); docs/rules.md lists them.
package operation
