package nvme

import (
	"fmt"
	"slices"
	"strings"

	"weft/internal/hint"
	"weft/modules/host"
	"weft/modules/linux/storage"
	"weft/plan"
)

// holdConnections refuses what may not be done because of other connections of the server.
func holdConnections(rs []plan.Resource, states []plan.State) {
	holdDisks(rs, states)
	ending := map[string]bool{}
	for i := range rs {
		if have, _ := host.Leaving[NVMeConnection](rs[i], states[i]); have != nil {
			ending[have.Device] = true
		}
	}
	for i := range rs {
		next := host.Coming[NVMeConnection](rs[i], states[i])
		if next == nil {
			continue
		}
		for _, c := range next.conflicts {
			if !ending[c.name] {
				states[i] = host.Stopped(next.refuseBeside(c))
				break
			}
		}
	}
}

// holdDisks refuses, before anything is done, to end all connections that lead to a
// disk which something uses. One path of several may go.
func holdDisks(rs []plan.Resource, states []plan.State) {
	ending := map[string]int{} // by subsystem
	goes := func(i int) *NVMeConnection {
		have, _ := host.Leaving[NVMeConnection](rs[i], states[i])
		return have
	}
	for i := range rs {
		if have := goes(i); have != nil && have.state == "live" {
			ending[have.NQN]++
		}
	}
	replaced := map[string]bool{} // the subsystems to which another connection comes first
	for i := range rs {
		if next := host.Coming[NVMeConnection](rs[i], states[i]); next != nil && next.provides() != nil {
			replaced[next.NQN] = true
		}
	}
	free := storage.StoppedArrays(rs, states)
	for i := range rs {
		have := goes(i)
		if have == nil || replaced[have.NQN] {
			continue
		}
		users := slices.DeleteFunc(slices.Clone(have.users), func(user string) bool { return free[firstWord(user)] })
		if len(users) == 0 || ending[have.NQN] < have.paths {
			continue
		}
		states[i] = host.Stopped(hint.Wrap(fmt.Errorf("%s is not disconnected: %s", have.Device, strings.Join(users, "; ")),
			"stop what uses the disk and apply again; one path of several may go while it is in use"))
	}
}

func firstWord(text string) string {
	word, _, _ := strings.Cut(text, " ")
	return word
}
