package devserver

import "syscall"

// childAttributes puts the server in a process group of its own, so that a Ctrl-C at the terminal reaches only this process and
// workers can finish before their server goes; and it has the kernel end the server when this process is killed.
func childAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
}
