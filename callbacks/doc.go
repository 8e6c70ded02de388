// Package callbacks receives the webhooks of providers. It verifies each one, reads which job it is about, and nudges the wait for
// that job, so that the next status request is sent sooner. It does nothing else: it starts no waits and reads no states. The
// answers to status requests alone decide, and the wait itself decides how soon it may ask.
//
// How a provider signs its webhooks, and where they contain the job's id, is in the callback section of its state table. Options has
// the endpoints and their secrets. Webhooks are limited in size, time, rate and number, and one that is received twice is passed
// on once.
package callbacks
