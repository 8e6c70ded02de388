// Package statetables says what the answers of providers mean. A state table is data, one YAML file per provider; Load reads
// and checks tables, and a Table turns one HTTP answer into one observation.
//
// The package is pure: it opens no connection, reads no clock and draws no random number. Whoever sends the requests
// (package activities) builds them with StatusRequest, CancelRequest and SubmitRequest and hands the answers to Classify,
// ReadCancel and ReadSubmission. docs/state-tables.md is the reference of the format.
package statetables
