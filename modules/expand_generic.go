package modules

import (
	"weft/inventory"
	"weft/modules/host"
	"weft/plan"
)

// generic expands the small blocks in a server, each after the one before it, in
// the order of its kinds: packages bring modules, units and keys along.
func (x *expansion) generic(d *host.Machine, s *inventory.Server) {
	var before []plan.ID
	for _, k := range x.kindsOf(d.OS()) {
		list, _ := k.DeclaredBy(d, s)
		for _, b := range list {
			before = []plan.ID{x.thing(plan.ID{Device: s.Addr, Kind: k.KindName(), Name: b.Name}, b.Resource, b.Range, before...)}
		}
	}
}
