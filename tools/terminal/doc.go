// Package terminal drives the starter's dialogue and its live list on a pseudo-terminal, against a real server and a real
// worker. It is a module of its own, so that the pseudo-terminal is nobody's dependency.
package terminal
