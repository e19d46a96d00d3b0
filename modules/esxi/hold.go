package esxi

import (
	"fmt"
	"slices"
	"strings"

	"weft/internal/hint"
	"weft/internal/remote"
	"weft/modules/host"
	"weft/plan"
)

// A store is a datastore on namespaces of NVMe over fabrics.
type store struct {
	name   string
	by     []string // controllers that lead to it
	online []string // those of them that are online
}

// Leads is what would go with a connection, or a port that connections go over.
type leads struct {
	controllers []string
	stores      []store // all that the host has
}

// readStores are the datastores of the host, whoever made and connected them.
func readStores(s remote.Seen, all []controller, err *error) (list []store) {
	by := map[string][]string{} // controllers, by namespace
	for _, r := range table(s, namespacesLook(), err) {
		by[r.text("Name")] = append(by[r.text("Name")], r.text("ControllerNumber"))
	}
	for _, r := range table(s, extentsLook(), err) {
		d := store{name: r.text("VolumeName"), by: by[r.text("DeviceName")]}
		for _, c := range all {
			if c.online && slices.Contains(d.by, c.number) {
				d.online = append(d.online, c.number)
			}
		}
		list = append(list, d)
	}
	return list
}

// leaving is what goes with a resource that is removed; nil: nothing.
func leaving(r plan.Resource, state plan.State) *leads {
	if n, _ := host.Leaving[NVMeConnection](r, state); n != nil {
		return &n.leads
	}
	if v, _ := host.Leaving[VMKernel](r, state); v != nil {
		return &v.leads
	}
	if t, _ := host.Leaving[Service](r, state); t != nil { // the port itself may be vCenter's
		return &t.leads
	}
	return nil
}

// holdStores refuses to remove connections and ports, whichever of them together, while
// a datastore would lose its last path that is online. A virtual machine that runs is on
// one; a disk that is mapped raw into one is not seen.
func holdStores(rs []plan.Resource, states []plan.State) {
	replaced := map[string]bool{} // the subsystems to which another connection comes first
	for i := range rs {
		if next := host.Coming[NVMeConnection](rs[i], states[i]); next != nil {
			replaced[next.NQN] = true
		}
	}
	going := map[string]bool{}
	for i := range rs {
		if l := leaving(rs[i], states[i]); l != nil {
			for _, c := range l.controllers {
				going[c] = true
			}
		}
	}
	for i := range rs {
		l := leaving(rs[i], states[i])
		if n, _ := host.Leaving[NVMeConnection](rs[i], states[i]); l == nil || n != nil && replaced[n.NQN] {
			continue
		}
		var lost []string
		for _, d := range l.stores {
			mine := slices.ContainsFunc(d.by, func(c string) bool { return slices.Contains(l.controllers, c) })
			stays := slices.ContainsFunc(d.online, func(c string) bool { return !going[c] })
			if mine && !stays {
				lost = append(lost, d.name)
			}
		}
		if len(lost) > 0 {
			states[i] = host.Stopped(hint.Wrap(fmt.Errorf("the datastore %s would lose its last path", strings.Join(lost, ", ")),
				"move what runs on it and unmount it first, or keep it in the files; one path of several may go"))
		}
	}
}
