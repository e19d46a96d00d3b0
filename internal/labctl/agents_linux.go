package labctl

import (
	"os"
	"path/filepath"
	"strconv"
)

// processesOf are the processes that run a program.
func processesOf(program string) (pids []int) {
	links, _ := filepath.Glob("/proc/[0-9]*/exe") // the pattern is valid
	for _, link := range links {
		if exe, err := os.Readlink(link); err != nil || exe != program {
			continue // another program, or another user's
		}
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(link))); err == nil && pid > 1 {
			pids = append(pids, pid)
		}
	}
	return pids
}
