package modules

import (
	"slices"

	"weft/inventory"
	"weft/plan"
)

// boot gives a server the unit that restores what its items lose.
func (x *expansion) boot(d *server, s *inventory.Server, part string, items []plan.Item) {
	var lines []string
	var needs []plan.ID
	for _, item := range items {
		r, ok := item.Resource.(thing)
		if !ok {
			continue
		}
		if l := r.boot(); len(l) > 0 {
			lines = append(lines, l...)
			needs = append(needs, item.ID)
		}
	}
	if len(lines) > 0 {
		want := newBoot(x.model.Name, part, lines, atBoot())
		x.add(plan.ID{Device: s.Addr, Kind: "boot", Name: want.name()}, BootKind().Want(d, want), s.Range, needs...)
	}
}

// memlock expands what programs on a server with RDMA need.
func (x *expansion) memlock(d *server, s *inventory.Server) {
	rdma := func(r *inventory.RNIC) bool { return r.Fabric != nil && r.Fabric.Transport != "tcp" }
	if i := slices.IndexFunc(s.RNICs, rdma); i >= 0 {
		user := ""
		if c := connection(x.model, s.Connection); c != nil {
			user = c.User
		}
		x.add(plan.ID{Device: s.Addr, Kind: "memlock", Name: "rdma"}, MemlockKind().Want(d, newMemlock(x.model.Name, user)), s.RNICs[i].Range)
	}
}
