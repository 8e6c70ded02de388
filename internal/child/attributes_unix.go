//go:build unix && !linux

package child

import "syscall"

func attributes(c Command) *syscall.SysProcAttr {
	attributes := &syscall.SysProcAttr{Setpgid: true}
	if c.User != nil {
		attributes.Credential = &syscall.Credential{Uid: c.User.UID, Gid: c.User.GID}
	}
	return attributes
}
