package discover

import (
	"slices"
	"strings"

	"weft/modules/host"
)

// infiniBand reports whether a NIC is one of InfiniBand, which LLDP is not spoken on.
func infiniBand(n *host.NICFacts) bool { return len(n.RDMA) > 0 && n.RDMA[0].Protocol == "infiniband" }

// subnet are the switches of InfiniBand that NICs of a fabric are plugged into, and the
// cables to them. weft manages none of them: they are of the plane of their NICs, and
// known by their GUIDs.
func (d *draft) subnet() (list []instance, cables []Cable, at map[*Switch]*leaf) {
	at = map[*Switch]*leaf{}
	if d.base != nil {
		return nil, nil, at // their names in files are not known
	}
	labels := taken{}
	for _, l := range d.leaves {
		labels[l.label] = true
	}
	guids := map[string]*Switch{}
	for _, n := range d.ordered() {
		for _, k := range n.cards {
			if k.fabric == nil || !infiniBand(k.nic) || len(k.nic.Heard) != 1 {
				continue
			}
			h := k.nic.Heard[0]
			sw := guids[h.Chassis]
			if sw == nil {
				sw = &Switch{Host: strings.TrimSpace(h.System + " " + h.Chassis)}
				guids[h.Chassis] = sw
				at[sw] = &leaf{address: address{kind: "switch", label: labels.name(label(h.System, "switch"), h.Chassis)}, Switch: sw, fabric: k.fabric, plane: k.fabric.planeName(k.fabric.plane(k.cidr.Addr()))}
				one := newInstance(at[sw].address)
				one.setNoted("unmanaged", boolean(true), "GUID "+h.Chassis)
				one.set("fabric", raw("fabric."+k.fabric.name))
				one.set("plane", str(at[sw].plane))
				list = append(list, one)
			}
			cables = append(cables, Cable{Switch: sw, Port: h.Port, Server: n.Server, NIC: k.nic, By: "its subnet"})
		}
	}
	slices.SortFunc(list, func(a, b instance) int { return natural(a.label, b.label) })
	return list, cables, at
}
