// Package devserver finds or builds Temporal's command line and runs its development server on loopback, for the demo and for tests
// that need a real server.
//
// A server loses its state when it ends, unless [Options] names a database file. It is a child of this process: [Server.Stop] ends
// it and nothing else, and on Linux the kernel ends it if this process dies first.
package devserver
