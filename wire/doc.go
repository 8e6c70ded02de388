// Package wire holds every name and every type that lands in a workflow history: the spec of a wait and its outcome,
// what activities are asked and what they answer, decisions, the record that is carried over continue-as-new, audit
// entries and query answers.
//
// It is the contract with other languages, with the temporal command line and with dashboards: JSON, snake_case, times
// in RFC 3339 UTC, durations as integers named <name>_seconds, enumerations as words. A word, a field name or a JSON
// shape in here is never renamed and never given another meaning; a new field is optional.
package wire
