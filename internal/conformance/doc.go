// Package conformance holds the shipped state tables against the whole of what reads them: each example is served over TLS by
// the provider of waittest, asked for and decided by the workflow with its real activities; hostile answers are served over
// HTTP and read by the status activity. It has tests alone.
package conformance
