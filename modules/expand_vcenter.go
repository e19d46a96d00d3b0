package modules

import (
	"errors"
	"fmt"
	"path"

	"weft/inventory"
	"weft/inventory/problem"
	"weft/modules/vcenter"
	"weft/plan"
)

// vcenters expands distributed switches, with their port groups and the hosts that are
// their members. The port that an uplink is cabled to comes first.
func (x *expansion) vcenters() {
	devices := map[*inventory.VCenter]*vcenter.Device{}
	for _, v := range x.model.VCenters {
		login := vcenter.Login{Host: v.Host, Refused: errors.New("nothing says how it is reached")}
		if x.env.VCenter != nil {
			login = x.env.VCenter(v)
		}
		devices[v] = vcenter.New(v.Addr, x.model.Name, login)
		x.fleet.Devices[v.Addr] = devices[v]
	}
	for _, s := range x.model.DVSwitches {
		if d := devices[s.VCenter]; d != nil {
			x.dvswitch(d, s)
		}
	}
}

func (x *expansion) dvswitch(d *vcenter.Device, s *inventory.DVSwitch) {
	id, r := d.Resource(&vcenter.Switch{Path: s.Path, MTU: s.MTU()})
	made := x.add(id, r, s.Range)
	x.stand(&s.Block, made)
	for _, g := range s.PortGroups {
		id, r := d.Resource(&vcenter.Group{Switch: s.Path, Name: path.Base(s.Path) + "-" + g.Name, VLAN: g.VLAN})
		x.stand(&s.Block, x.add(id, r, g.Range, made))
	}
	for _, r := range s.Uplinks {
		if os := x.host(r.Server.OS); os == nil || !os.Uplinks {
			x.report(reason{problem.Uplink, "no uplink of a distributed switch", s.At("uplinks"), fmt.Sprintf("%s is of a server with os = %q", r.Addr, r.Server.OS)}, s.Addr)
			continue
		}
		if r.PCI == "" {
			x.refuse(r.Range, s.Addr, "uplink "+r.Addr+": a NIC is found by match = { pci = … } only")
			continue
		}
		if r.Address.IsValid() {
			x.note(r.At("address"), block(r.Server.Addr), "ports of the VMkernel on distributed switches are described, not yet managed: the address of "+r.Name+" is for a port that is made by hand")
		}
		needs := []plan.ID{made}
		if port, ok := x.ports[r]; ok {
			needs = append(needs, port)
		}
		id, member := d.Resource(&vcenter.Member{Switch: s.Path, Host: r.Server.Host, PCI: r.PCI})
		x.stand(&s.Block, x.add(id, member, s.At("uplinks"), needs...))
	}
}
