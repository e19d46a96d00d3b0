package linux

import (
	"errors"

	"weft/modules/host"
	"weft/modules/linux/nic"
	"weft/plan"
)

// declared is what a ledger says of the ports of NICs. Connections and storage have more
// to them than all systems share.
func declared(_ string, entries []plan.Entry) (*host.Declared, error) {
	d := &host.Declared{}
	sizes, names, err1 := host.Applied[nic.MTU](entries, "mtu")
	for i, m := range sizes {
		p := d.Port(m.PCI)
		p.Name, p.Fabric = names[i], true
	}
	addresses, names, err2 := host.Applied[nic.Address](entries, "address")
	for i, a := range addresses {
		p := d.Port(a.PCI)
		if p.Address = a.CIDR; p.Name == "" {
			p.Name = names[i]
		}
	}
	marks, _, err3 := host.Applied[nic.RoCE](entries, "roce")
	for _, r := range marks {
		d.Port(r.PCI).RoCE = true
	}
	links, _, err4 := host.Applied[nic.RDMALink](entries, "rdma_link")
	for _, l := range links {
		if l.Type != "" {
			d.Port(l.PCI).Software = true
		}
	}
	return d, errors.Join(err1, err2, err3, err4)
}
