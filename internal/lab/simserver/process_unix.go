//go:build unix && !linux

package simserver

import "syscall"

// ownGroup puts a child into a group of its own. This system cannot kill it
// when the lab dies; the next lab in the same folder does.
func ownGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// changed is not asked here: systems have other names for it.
func changed(*syscall.Stat_t) (at syscall.Timespec, told bool) { return at, false }
