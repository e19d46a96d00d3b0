package modules

import (
	"fmt"
	"strings"

	"weft/internal/hint"
	"weft/plan"
)

// hold refuses, before anything is done, to end all connections that lead to a
// disk which something uses. One path of several may go.
func (d *server) hold(rs []plan.Resource, states []plan.State) {
	type disks struct{ nqn, host string }
	ending := map[disks]int{}
	goes := func(i int) *NVMeConnection {
		r, ok := rs[i].(*restoration[NVMeConnection, *NVMeConnection])
		have, _ := states[i].(*NVMeConnection)
		if !ok || r.former != nil {
			return nil
		}
		return have
	}
	for i := range rs {
		if have := goes(i); have != nil && have.state == "live" {
			ending[disks{have.NQN, have.HostNQN}]++
		}
	}
	for i := range rs {
		have := goes(i)
		if have == nil || len(have.users) == 0 || ending[disks{have.NQN, have.HostNQN}] < have.paths {
			continue
		}
		states[i] = refused{firm: true, err: hint.Wrap(fmt.Errorf("%s is not disconnected: %s", have.Device, strings.Join(have.users, "; ")),
			"stop what uses the disk and apply again; one path of several may go while it is in use")}
	}
}
