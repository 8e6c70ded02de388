//go:build !unix

package faults

import "syscall"

// Other systems have no signals that freeze a process; the suite fails there.
const (
	freeze = syscall.Signal(-1)
	thaw   = syscall.Signal(-1)
)
