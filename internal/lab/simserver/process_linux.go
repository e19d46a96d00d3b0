package simserver

import "syscall"

// ownGroup puts a child into a group of its own; the kernel kills it when the
// lab dies.
func ownGroup() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// changed is when anything of a file was changed last.
func changed(s *syscall.Stat_t) (at syscall.Timespec, told bool) { return s.Ctim, true }
