//go:build unix

package faults

import "syscall"

// The signals that freeze a process and let it continue.
const (
	freeze = syscall.SIGSTOP
	thaw   = syscall.SIGCONT
)
