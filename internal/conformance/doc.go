// Package conformance holds the shipped state tables against the whole of what reads them: each example is served over HTTP
// and TLS, asked for by the status activity, and decided on by the core. It has tests alone.
package conformance
