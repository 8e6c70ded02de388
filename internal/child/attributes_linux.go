package child

import (
	"cmp"
	"syscall"
)

func attributes(c Command) *syscall.SysProcAttr {
	attributes := &syscall.SysProcAttr{Setpgid: true, Pdeathsig: cmp.Or(c.OnDeath, syscall.SIGKILL)}
	if c.User != nil {
		attributes.Credential = &syscall.Credential{Uid: c.User.UID, Gid: c.User.GID}
	}
	return attributes
}
