package run

import (
	"bytes"
	"fmt"
	"os"
	"os/user"
	"strings"

	"weft/modules/claim"
)

// Holder says who this process is, for the leases that it takes.
func Holder() claim.Holder {
	h := claim.Holder{Who: "an unknown user", Machine: machine(), PID: os.Getpid(), Started: started(os.Getpid())}
	if h.Machine != "" && h.Started != "" {
		h.Alive = alive
	}
	if u, err := user.Current(); err == nil {
		h.Who = u.Username
	}
	if name, err := os.Hostname(); err == nil {
		h.Who += "@" + name
	}
	return h
}

// alive reports whether the weft that holds a lease still runs on this
// machine.
func alive(h claim.Holder) bool {
	now := started(h.PID)
	return now != "" && now == h.Started
}

// machine tells where process numbers mean the same: this boot of this
// machine, and in it this container. "" where that cannot be told.
func machine() string {
	boot, err1 := os.ReadFile("/proc/sys/kernel/random/boot_id")
	space, err2 := os.Readlink("/proc/self/ns/pid")
	if err1 != nil || err2 != nil {
		return ""
	}
	return strings.TrimSpace(string(boot)) + " " + space
}

// started is when a process began, in ticks since the boot; "" when there is
// no such process, or it cannot be told.
func started(pid int) string {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return ""
	}
	// The command's name stands in parentheses and may hold anything.
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	if len(fields) < 20 || fields[0] == "Z" {
		return ""
	}
	return fields[19]
}
