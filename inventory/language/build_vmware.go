package language

import (
	"strings"

	"weft/inventory"
)

func vcenterSchema() *schema {
	return referred("name", attrs{
		"host":       need(hostName()),
		"port":       opt(integer(1, 65535)).orNumber(443),
		"tls_sha256": opt(matching("the SHA-256 of a certificate, 64 hexadecimal digits", `([0-9A-Fa-f]{2}:?){31}[0-9A-Fa-f]{2}`)),
		"credential": need(ref("credential")),
	}, nil)
}

func dvswitchSchema() *schema {
	const name = `[A-Za-z0-9_][A-Za-z0-9_. -]{0,79}`
	return resource("name", attrs{
		"vcenter": need(ref("vcenter")),
		"path":    need(matching("a path such as dc1/network/weft-rdma", name+`/network(/`+name+`)+`)),
		"uplinks": need(refs("rnic")),
	}, blocks{
		"portgroup": {schema: part("name", attrs{
			"vlan": opt(integer(0, 4094)).orNumber(0),
		}, nil).named("the end of the name of a port group", `[A-Za-z0-9_][A-Za-z0-9_.-]{0,39}`)},
	})
}

func (b *builder) vcenter(o *object) {
	v := &inventory.VCenter{
		Block:      b.block(o),
		Name:       o.fullName(),
		Host:       b.text(o, "host"),
		Port:       b.integer(o, "port"),
		SHA256:     strings.ToLower(strings.ReplaceAll(b.text(o, "tls_sha256"), ":", "")),
		Credential: one[inventory.Credential](b, o, "credential"),
	}
	o.became = v
	b.m.VCenters = append(b.m.VCenters, v)
}

func (b *builder) dvswitch(o *object) {
	d := &inventory.DVSwitch{
		Block:   b.block(o),
		Name:    o.fullName(),
		VCenter: one[inventory.VCenter](b, o, "vcenter"),
		Path:    b.text(o, "path"),
	}
	for _, r := range b.references(o, "uplinks") {
		if nic, ok := r.became.(*inventory.RNIC); ok {
			d.Uplinks = append(d.Uplinks, nic)
			if nic.DVSwitch == nil {
				nic.DVSwitch = d
			}
		}
	}
	for _, c := range o.all("portgroup") {
		d.PortGroups = append(d.PortGroups, &inventory.DVPortGroup{Block: b.block(c), Name: c.label, VLAN: b.integer(c, "vlan")})
	}
	o.became = d
	b.m.DVSwitches = append(b.m.DVSwitches, d)
}
