package modules

import (
	"slices"

	"weft/inventory"
	"weft/modules/host"
	"weft/plan"
)

// nicQoS expands what the classes of a fabric ask of a NIC port, in the order of
// Kinds. It follows the switch port, which wired names.
func (x *expansion) nicQoS(d *host.Machine, r *inventory.RNIC, wired []plan.ID) (ids []plan.ID) {
	for _, k := range x.kindsOf(d.OS()) {
		if want := k.OnPort(d, r); want != nil {
			ids = append(ids, x.thing(plan.ID{Device: d.Address(), Kind: k.KindName(), Name: r.Name}, want, r.Range, slices.Concat(wired, ids)...))
		}
	}
	return ids
}
