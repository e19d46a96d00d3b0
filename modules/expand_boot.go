package modules

import (
	"slices"

	"weft/inventory"
	"weft/modules/host"
	"weft/modules/linux"
	"weft/modules/linux/system"
	"weft/plan"
)

// boot gives a server the unit that restores what these things lose.
func (x *expansion) boot(d *host.Machine, s *inventory.Server, part string, things []thing) {
	var lines []string
	var needs []plan.ID
	for _, t := range things {
		if l := t.is.Boot(); len(l) > 0 {
			lines = append(lines, l...)
			needs = append(needs, t.id)
		}
	}
	if len(lines) > 0 {
		want := system.NewBoot(x.model.Name, part, lines, linux.AtBoot())
		x.thing(plan.ID{Device: s.Addr, Kind: "boot", Name: want.Name()}, system.BootKind().Want(d, want), s.Range, needs...)
	}
}

// memlock expands what programs on a server with RDMA need.
func (x *expansion) memlock(d *host.Machine, s *inventory.Server) {
	rdma := func(r *inventory.RNIC) bool { return r.Fabric != nil && r.Fabric.Transport != "tcp" }
	if i := slices.IndexFunc(s.RNICs, rdma); i >= 0 {
		user := ""
		if c := connection(x.model, s.Connection); c != nil {
			user = c.User
		}
		x.thing(plan.ID{Device: s.Addr, Kind: "memlock", Name: "rdma"}, system.MemlockKind().Want(d, system.NewMemlock(x.model.Name, user)), s.RNICs[i].Range)
	}
}
