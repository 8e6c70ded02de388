// Package cluster runs what a Temporal cluster in production is made of, small and on loopback: PostgreSQL with a directory, a port
// and a password of its own, and the Temporal server on it, each of which can be stopped, killed and started again.
//
// PostgreSQL's programs have to be installed (on Debian: apt-get install postgresql); their own server is left alone. The
// Temporal server and its schema tool are pinned in tools/cluster and compiled when they are first needed.
package cluster
