// Package operation is the core of jobwait: the rules of one bounded wait as a state machine over values.
//
// The shell around it (package workflows) reports what happened and when, and carries out the command that Next returns. The core
// reads no clock, draws no random numbers and does no I/O: time arrives as a value, and every jitter is a pure function of the
// operation, its first run, the poll number and the purpose. The same events at the same times therefore always lead to the same
// commands, on which replay relies.
//
// Message, Headline, Story, StoryOf, Span, VerifyChain and EntryHash are meant for importers. Everything else is exported only for
// the other packages of this module, and any release may change it.
//
// Rules are named by their numbers (R12); docs/rules.md lists them.
package operation
