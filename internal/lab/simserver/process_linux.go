package simserver

import "syscall"

// ownGroup puts a child into a group of its own; the kernel kills it when the
// lab dies.
func ownGroup() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
