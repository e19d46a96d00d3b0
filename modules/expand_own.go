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
			x.refuse(r.Range, s.Addr, "rnic "+r.Name+": a NIC is found by match = { pci = … } only")
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
		for _, w := range list {
			id := x.add(plan.ID{Device: s.Addr, Kind: w.Kind, Name: w.Name}, w.Resource, r.Range, needs...)
			needs = []plan.ID{id}
			x.nics[r] = append(x.nics[r], id)
		}
	}
}

// ownConnections expands what an initiator on such a server connects to.
func (x *expansion) ownConnections(i *inventory.Initiator) {
	d, ok := x.fleet.Devices[addr(i.Server)].(*host.Machine)
	if !ok || d.OS().Connect == nil || i.Engine != "kernel" {
		return
	}
	for _, c := range i.Connects {
		for _, t := range c.To {
			x.ownConnection(d, i, c, t)
		}
	}
}

func (x *expansion) ownConnection(d *host.Machine, i *inventory.Initiator, c *inventory.Connect, t *inventory.Target) {
	for _, p := range t.Portals {
		r := nicFor(i.Server, p)
		if r != nil && r.DVSwitch != nil {
			x.refuse(c.Range, i.Addr, fmt.Sprintf("connect over %s, an uplink of %s: NVMe from ports of a distributed switch", r.Addr, r.DVSwitch.Addr))
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
			name := instance(t.Origin(), i.Server.Origin()) + "." + sub.Name + "@" + p.Address.String()
			needs := slices.Clone(x.nics[r][len(x.nics[r])-1:])
			for _, by := range t.Transport {
				if id, ok := x.exports[export{t, by, p.Address}]; ok && !slices.Contains(needs, id) {
					needs = append(needs, id)
				}
			}
			x.stand(&i.Block, x.add(plan.ID{Device: d.Address(), Kind: w.Kind, Name: name}, w.Resource, c.Range, needs...))
		}
	}
}
