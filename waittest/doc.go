// Package waittest is what teams need to test their waits: a scripted provider that answers over real HTTP and remembers what it
// was asked.
package waittest
