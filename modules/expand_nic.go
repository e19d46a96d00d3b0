package modules

import (
	"slices"

	"weft/inventory"
	"weft/plan"
)

// nicQoS expands what the classes of a fabric ask of a NIC port, in the order of
// Kinds. It follows the switch port, which wired names.
func (x *expansion) nicQoS(d *server, r *inventory.RNIC, wired []plan.ID) (ids []plan.ID) {
	for _, k := range x.kindsOf(d.os) {
		if want := k.port(d, r); want != nil {
			ids = append(ids, x.add(plan.ID{Device: d.name, Kind: k.name(), Name: r.Name}, want, r.Range, slices.Concat(wired, ids)...))
		}
	}
	return ids
}
