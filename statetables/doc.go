// Package statetables says what the status answers of providers mean. A state table is data, one YAML file per
// provider; Load reads and checks tables, and a Table turns one HTTP answer into one observation.
//
// The package is pure: it opens no connection, reads no clock and draws no random number. Whoever sends the requests
// (package activities) builds them with StatusRequest and CancelRequest and hands the answers to Classify and
// ReadCancel. docs/state-tables.md is the reference of the format.
package statetables
