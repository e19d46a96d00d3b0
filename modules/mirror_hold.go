package modules

import (
	"fmt"
	"strings"

	"weft/internal/hint"
	"weft/plan"
)

// holdArrays refuses, before anything is done, to stop arrays that are in use.
func holdArrays(rs []plan.Resource, states []plan.State) {
	for i := range rs {
		have, reverting := leaving[Mirror](rs[i], states[i])
		if have != nil && !reverting && len(have.users) > 0 {
			states[i] = stopped(hint.Wrap(fmt.Errorf("%s is not stopped: %s", have.path(), strings.Join(have.users, "; ")),
				"stop what uses it and apply again"))
		}
	}
}

// stoppedArrays are those that are stopped before anything is disconnected, as
// devices: what a mirror is built on is free by then.
func stoppedArrays(rs []plan.Resource, states []plan.State) map[string]bool {
	list := map[string]bool{}
	for i := range rs {
		have, reverting := leaving[Mirror](rs[i], states[i])
		if have != nil && !reverting && len(have.users) == 0 {
			list[have.device] = true
		}
	}
	return list
}
