// Package wire defines every name and every type that ends up in a workflow history: specs and outcomes, the inputs and results of
// activities, decisions, the record that is carried over continue-as-new, audit entries and the results of queries.
//
// It is the contract with other languages, with the temporal command line and with dashboards: JSON in snake_case, times in RFC 3339
// and UTC, durations as integers named <name>_seconds, enumerations as words. Words, field names and JSON shapes are never renamed
// and never get another meaning; new fields are optional.
package wire
