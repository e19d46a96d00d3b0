package modules

import (
	"weft/inventory"
	"weft/plan"
)

// generic expands the small blocks in a server, each after the one before it, in
// the order of its kinds: packages bring modules, units and keys along.
func (x *expansion) generic(d *server, s *inventory.Server) {
	var before []plan.ID
	for _, k := range x.kindsOf(d.os) {
		list, _ := k.blocks(d, s)
		for _, b := range list {
			before = []plan.ID{x.add(plan.ID{Device: s.Addr, Kind: k.name(), Name: b.name}, b.resource, b.Range, before...)}
		}
	}
}
