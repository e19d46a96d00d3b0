package discover

import (
	"cmp"
	"slices"
	"strings"

	"weft/inventory"
	"weft/modules/host"
)

// infiniBand reports whether a NIC is one of InfiniBand, which LLDP is not spoken on.
func infiniBand(n *host.NICFacts) bool { return len(n.RDMA) > 0 && n.RDMA[0].Protocol == "infiniband" }

// partition is that of all NICs of a fabric of InfiniBand, by their IP interfaces. Only a
// subnet manager knows whether they belong there.
func (d *draft) partition(f *fabric, cards []*card) {
	if f.transport != "infiniband" {
		return
	}
	const usual = 0x7fff | host.FullMember
	var keys []host.PKey
	for _, c := range cards {
		if ip := c.nic.IPoIB; ip != nil && ip.PKey != 0 && !slices.ContainsFunc(keys, ip.PKey.Same) {
			keys = append(keys, ip.PKey)
		}
	}
	switch {
	case len(keys) > 1:
		d.site.found(Warn, "", "write partition by hand: ports of different partitions do not reach each other", "NICs of fabric %s are in %d partitions: %v", f.name, len(keys), keys)
	case len(keys) == 1 && !keys[0].Same(usual):
		f.partition = most(cards, func(c *card) host.PKey {
			if c.nic.IPoIB == nil {
				return 0
			}
			return c.nic.IPoIB.PKey
		}, 0)
	}
}

// subnet are the switches of InfiniBand that NICs of a fabric are plugged into, other than
// those that stand in files, and the cables to them. weft manages none of them: they are
// of the plane of their NICs, and known by their GUIDs.
func (d *draft) subnet() (list []instance, cables []Cable, at map[*Switch]*leaf) {
	at = map[*Switch]*leaf{}
	labels := taken{}
	for _, l := range d.leaves {
		labels[l.label] = true
	}
	guids, unknown := d.plugged(at, labels)
	for _, n := range d.ordered() {
		for _, k := range n.cards {
			if k.fabric == nil || !infiniBand(k.nic) || len(k.nic.Heard) != 1 {
				continue
			}
			h := k.nic.Heard[0]
			sw, named := guids[h.Chassis]
			switch {
			case named && sw == nil || !named && unknown != "":
				if !n.declared {
					d.site.found(Warn, n.Host, "write the link by hand", "%s is plugged into the switch %q, GUID %s, and which of the files' that is no link of theirs tells (%s): its link is not added", k.nic.Interface, h.System, h.Chassis, cmp.Or(unknown, "two links differ"))
				}
				continue
			case !named:
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

// plugged are the switches of InfiniBand that stand in files, by their GUIDs, which files
// have in comments only: a link of a NIC tells which switch that is that the NIC is plugged
// into. Where links differ it is none (nil). unknown is one that no link tells of: any other
// GUID may be its.
func (d *draft) plugged(at map[*Switch]*leaf, labels taken) (guids map[string]*Switch, unknown string) {
	guids = map[string]*Switch{}
	if d.base == nil {
		return guids, ""
	}
	of := map[*inventory.Switch]*Switch{}
	for _, sw := range d.base.Switches {
		a, ok := parseAddress(sw.Addr)
		if !ok || !sw.Unmanaged || sw.Fabric == nil || sw.Fabric.Transport != "infiniband" {
			continue
		}
		labels[a.label] = true
		of[sw] = &Switch{Host: sw.Name}
		for _, f := range d.fabrics {
			if f.name == sw.Fabric.Name {
				at[of[sw]] = &leaf{address: a, Switch: of[sw], declared: true, fabric: f, plane: sw.Plane}
			}
		}
	}
	told := map[*Switch]bool{}
	for _, l := range d.base.Links {
		sw, r := of[cmp.Or(l.To.Switch, l.From.Switch)], cmp.Or(l.From.RNIC, l.To.RNIC)
		if h := d.heardBy(r); sw != nil && h != nil {
			if other, twice := guids[h.Chassis]; twice && other != sw {
				sw = nil
			}
			guids[h.Chassis], told[sw] = sw, true
		}
	}
	for _, sw := range d.base.Switches {
		if of[sw] != nil && !told[of[sw]] {
			unknown = sw.Addr
		}
	}
	return guids, unknown
}

// heardBy is what a NIC that stands in files is plugged into; nil: it does not say.
func (d *draft) heardBy(r *inventory.RNIC) *host.Heard {
	for _, n := range d.ordered() {
		for _, k := range n.cards {
			if r != nil && n.Host == r.Server.Host && k.nic.Is(r) && infiniBand(k.nic) && len(k.nic.Heard) == 1 {
				return &k.nic.Heard[0]
			}
		}
	}
	return nil
}
