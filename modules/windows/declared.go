package windows

import (
	"errors"
	"strconv"

	"weft/modules/host"
	"weft/plan"
)

// usualPort is that of SMB Direct where files say nothing.
const usualPort = 445

// declared is what a ledger says of the ports of NICs, and of what the host has beside them:
// smb, and features that no fabric asks for.
func declared(_ string, entries []plan.Entry) (*host.Declared, error) {
	d := &host.Declared{}
	cards, names, err1 := host.Applied[Adapter](entries, "adapter")
	for i, a := range cards {
		p := d.Port(a.PCI)
		p.Name, p.Fabric, p.RoCE = names[i], true, a.Values[kwRDMA] == "1"
		p.VLAN, _ = strconv.Atoi(a.Values[kwVLAN]) // "": none
	}
	addresses, names, err2 := host.Applied[Address](entries, "ip_address")
	for i, a := range addresses {
		p := d.Port(a.PCI)
		if p.Address = a.CIDR; p.Name == "" {
			p.Name = names[i]
		}
	}
	policies, _, err3 := host.Applied[Policy](entries, "qos_policy")
	if host.Has(entries, "smb") {
		smb := host.DeclaredBlock{Kind: "smb"}
		for _, p := range policies {
			if p.Port != usualPort {
				smb.Set = []host.Setting{host.Set("direct_port", p.Port)}
			}
		}
		d.Blocks = append(d.Blocks, smb)
	}
	features, _, err4 := host.Applied[Feature](entries, "windows_feature")
	for _, f := range features {
		if !host.Has(entries, "dcb") { // whose fabric brings it along
			d.Blocks = append(d.Blocks, host.DeclaredBlock{Kind: "windows_feature", Label: f.Name})
		}
	}
	return d, errors.Join(err1, err2, err3, err4)
}
