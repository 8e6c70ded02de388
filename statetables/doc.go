// Package statetables interprets the answers of providers. A state table is data, one YAML file per provider: Load reads and checks
// tables, and a Table builds the requests to its provider and turns each HTTP answer into an observation.
//
// The package is pure: it opens no connection, reads no clock and draws no random numbers. Package activities builds requests with
// StatusRequest, CancelRequest and SubmitRequest, sends them, and passes the answers to Classify, ReadCancel and ReadSubmission.
//
// The types whose names end in Doc mirror the YAML format, for programs that show or check tables. docs/state-tables.md is its
// reference.
package statetables
