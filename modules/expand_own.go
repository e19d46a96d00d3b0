package modules

import (
	"fmt"
	"slices"

	"weft/inventory"
	"weft/modules/host"
	"weft/plan"
)

// ownPorts expands the NICs of a server whose system has kinds of its own for them. Each
// resource follows the one before it, and the switch port that the NIC is cabled to.
func (x *expansion) ownPorts(os *host.OS, d *host.Machine, s *inventory.Server) {
	if os.Port == nil {
		return
	}
	x.expect(d, s)
	for _, r := range s.RNICs {
		if r.PCI == "" {
			x.refuse(r.Range, s.Addr, "rnic "+r.Name+": only match = { pci = … } is supported")
			continue
		}
		if r.Port != "" {
			x.refuse(r.At("match"), s.Addr, fmt.Sprintf("rnic %s, on os = %q: match.port: ports of a PCI function are distinguished only on Linux", r.Name, os.Name))
			continue
		}
		if sw := x.onward(r); sw != nil {
			x.refuse(r.At("vlan"), s.Addr, fmt.Sprintf("rnic %s, on os = %q: %s is cabled to another switch, which classifies by DSCP, but this NIC marks only the tag of its VLAN", r.Name, os.Name, sw.Addr))
			continue
		}
		list, err := os.Port(d, r)
		if err != nil {
			x.refuse(r.Range, s.Addr, fmt.Sprintf("rnic %s, on os = %q: %v", r.Name, os.Name, err))
			continue
		}
		var needs []plan.ID
		if port, ok := x.ports[r]; ok {
			needs = append(needs, port)
		}
		var on []plan.ID // what each names, so that it goes before that: not all are in ledgers
		if r.VMK != nil && r.VMK.PortGroup != nil && r.VMK.PortGroup.Switch.VCenter != nil {
			on = append(on, onGroup(r))
		}
		for _, w := range list {
			id := x.thing(plan.ID{Device: s.Addr, Kind: w.Kind, Name: w.Name}, w.Resource, r.Range, append(needs, on...)...)
			needs = []plan.ID{id}
			x.nics[r] = append(x.nics[r], id)
		}
	}
}

// onward is the switch of a NIC that marks packets in the tag of a VLAN, where that is
// cabled to another one of the fabric; nil: it is not, or the NIC marks otherwise.
func (x *expansion) onward(r *inventory.RNIC) *inventory.Switch {
	if r.VLAN == 0 || r.Fabric == nil || len(r.Fabric.Classes) == 0 {
		return nil
	}
	var first *inventory.Switch
	for _, l := range x.model.Links {
		switch r {
		case l.From.RNIC:
			first = l.To.Switch
		case l.To.RNIC:
			first = l.From.Switch
		}
	}
	for _, l := range x.model.Links {
		if a, b := l.From.Switch, l.To.Switch; first != nil && a != nil && b != nil && (a == first || b == first) {
			return first
		}
	}
	return nil
}

// ownConnections expands what an initiator on such a server connects to.
func (x *expansion) ownConnections(i *inventory.Initiator) {
	d := x.machines[addr(i.Server)]
	if d == nil || d.OS().Connect == nil || i.Engine != "kernel" {
		return
	}
	for c, t := range i.Reaches() {
		x.ownConnection(d, i, c, t)
	}
}

func (x *expansion) ownConnection(d *host.Machine, i *inventory.Initiator, c *inventory.Connect, t *inventory.Target) {
	for _, p := range t.Portals {
		r := nicFor(i.Server, p)
		if r != nil && r.DVSwitch != nil && r.VMK == nil {
			x.refuse(c.Range, i.Addr, fmt.Sprintf("connect over %s, an uplink of %s: it has no vmk block with a port group of that switch", r.Addr, r.DVSwitch.Addr))
			return
		}
		if r == nil || len(x.nics[r]) == 0 {
			continue // a plane that the initiator has no part in, or a NIC that is refused
		}
		for _, sub := range t.Subsystems {
			w, err := d.OS().Connect(d, i, c, t, sub, p, r)
			if err != nil {
				x.refuse(c.Range, i.Addr, fmt.Sprintf("connect, on os = %q: %v", d.OS().Name, err))
				return
			}
			name := inventory.NameOnDevice(t.Origin(), i.Server.Origin()) + "." + sub.Name + "@" + p.Address.String()
			needs := slices.Clone(x.nics[r][len(x.nics[r])-1:])
			for _, by := range t.Transport {
				if id, ok := x.exports[export{t, by, p.Address}]; ok && !slices.Contains(needs, id) {
					needs = append(needs, id)
				}
			}
			id := x.thing(plan.ID{Device: d.Address(), Kind: w.Kind, Name: name}, w.Resource, c.Range, needs...)
			x.stand(&i.Block, id)
			x.access.users[sub] = append(x.access.users[sub], id)
		}
	}
}
