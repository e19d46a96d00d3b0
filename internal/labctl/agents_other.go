//go:build unix && !linux

package labctl

import (
	"os/exec"
	"strconv"
	"strings"
)

// processesOf are the processes that run a program, by their command lines.
func processesOf(program string) (pids []int) {
	out, err := exec.Command("/bin/ps", "-axo", "pid=,command=").Output()
	if err != nil {
		return nil
	}
	for line := range strings.Lines(string(out)) {
		number, command, _ := strings.Cut(strings.TrimSpace(line), " ")
		if pid, err := strconv.Atoi(number); err == nil && pid > 1 && strings.HasPrefix(strings.TrimSpace(command)+" ", program+" ") {
			pids = append(pids, pid)
		}
	}
	return pids
}
