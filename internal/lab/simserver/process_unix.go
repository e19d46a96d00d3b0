//go:build unix && !linux

package simserver

import "syscall"

// ownGroup puts a child into a group of its own. This system cannot kill it
// when the lab dies; the next lab in the same folder does.
func ownGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
