//go:build !unix

package faults

import "syscall"

// Other systems have no signals that freeze a process: there these fail, and the suite with them.
const (
	freeze = syscall.Signal(-1)
	thaw   = syscall.Signal(-1)
)
