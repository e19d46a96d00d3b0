package modules

import (
	"fmt"
	"slices"
	"strings"

	"weft/internal/hint"
	"weft/plan"
)

// holdDisks refuses, before anything is done, to end all connections that lead to a
// disk which something uses. One path of several may go.
func holdDisks(rs []plan.Resource, states []plan.State) {
	type disks struct{ nqn, host string }
	ending := map[disks]int{}
	goes := func(i int) *NVMeConnection {
		r, ok := rs[i].(*resource[NVMeConnection])
		if !ok || r.declared() || r.want != nil {
			return nil
		}
		return observed[NVMeConnection](states[i])
	}
	for i := range rs {
		if have := goes(i); have != nil && have.state == "live" {
			ending[disks{have.NQN, have.HostNQN}]++
		}
	}
	stopped := stopping(rs, states)
	for i := range rs {
		if r, ok := rs[i].(*resource[Mirror]); ok && r.goes() {
			if have := observed[Mirror](states[i]); have != nil && len(have.users) > 0 {
				states[i] = refused{firm: true, err: hint.Wrap(fmt.Errorf("%s is not stopped: %s", have.path(), strings.Join(have.users, "; ")),
					"stop what uses it and apply again")}
			}
		}
	}
	for i := range rs {
		have := goes(i)
		if have == nil {
			continue
		}
		users := slices.DeleteFunc(slices.Clone(have.users), func(user string) bool { return stopped[firstWord(user)] })
		if len(users) == 0 || ending[disks{have.NQN, have.HostNQN}] < have.paths {
			continue
		}
		states[i] = refused{firm: true, err: hint.Wrap(fmt.Errorf("%s is not disconnected: %s", have.Device, strings.Join(users, "; ")),
			"stop what uses the disk and apply again; one path of several may go while it is in use")}
	}
}

// stopping are the arrays that are stopped before anything is disconnected, as
// devices: what a mirror is built on is free by then.
func stopping(rs []plan.Resource, states []plan.State) map[string]bool {
	list := map[string]bool{}
	for i := range rs {
		r, ok := rs[i].(*resource[Mirror])
		if have := observed[Mirror](states[i]); ok && have != nil && r.goes() && len(have.users) == 0 {
			list[have.device] = true
		}
	}
	return list
}

func firstWord(text string) string {
	word, _, _ := strings.Cut(text, " ")
	return word
}
