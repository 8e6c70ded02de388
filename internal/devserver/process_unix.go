//go:build unix && !linux

package devserver

import "syscall"

// childAttributes puts the server in a process group of its own, so that a Ctrl-C at the terminal reaches only this process and
// workers can finish before their server goes.
func childAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true}
}
