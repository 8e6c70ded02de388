//go:build !unix

package child

import "syscall"

func attributes(Command) *syscall.SysProcAttr { return nil }
