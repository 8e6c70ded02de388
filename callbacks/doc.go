// Package callbacks receives the webhooks of providers. It checks where one comes from, finds out which job it is about, and
// nudges the wait for that job, so that the next status request comes sooner. It does nothing else: it starts no wait, reads no
// state, and what a nudge may bring forward is for the wait to say. Polling stays the truth.
//
// How a provider signs, and where the job's id stands, is in its state table (callback); which endpoints there are, and their
// secrets, in Options. What arrives is bounded in size, time, rate and number, and what was received twice is passed on once.
package callbacks
