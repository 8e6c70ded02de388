//go:build unix

package faults

import "syscall"

// What freezes a process and lets it go on.
const (
	freeze = syscall.SIGSTOP
	thaw   = syscall.SIGCONT
)
