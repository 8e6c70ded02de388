// Package mail holds package notify's e-mails against a real SMTP server on a real socket. It is a module of its own, so that
// the server is nobody's dependency.
package mail
