// Package waittest is what teams need to test their waits: a scripted provider that answers over real HTTP and remembers what it
// was asked, and recorded histories, which are fetched, kept as JSON, and replayed strictly against the code of today.
package waittest
