package storage

import (
	"fmt"
	"strings"

	"weft/internal/hint"
	"weft/modules/host"
	"weft/plan"
)

// holdArrays refuses, before anything is done, to stop arrays that are in use.
func holdArrays(rs []plan.Resource, states []plan.State) {
	for i := range rs {
		have, reverting := host.Leaving[Mirror](rs[i], states[i])
		if have != nil && !reverting && len(have.users) > 0 {
			states[i] = host.Stopped(hint.Wrap(fmt.Errorf("%s is not stopped: %s", have.path(), strings.Join(have.users, "; ")),
				"stop what uses it and apply again"))
		}
	}
}

// stoppedArrays are those that are stopped before anything is disconnected, as
// devices: what a mirror is built on is free by then.
func StoppedArrays(rs []plan.Resource, states []plan.State) map[string]bool {
	list := map[string]bool{}
	for i := range rs {
		have, reverting := host.Leaving[Mirror](rs[i], states[i])
		if have != nil && !reverting && len(have.users) == 0 {
			list[have.device] = true
		}
	}
	return list
}
