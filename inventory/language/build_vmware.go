package language

import (
	"strings"

	"github.com/zclconf/go-cty/cty"

	"weft/inventory"
)

func vcenterSchema() *schema {
	return referred("name", attrs{
		"host":       need(hostName()),
		"port":       opt(integer(1, 65535)).orNumber(443),
		"tls_sha256": opt(matching("the SHA-256 of a certificate, 64 hexadecimal digits", `([0-9A-Fa-f]{2}:?){31}[0-9A-Fa-f]{2}`)),
		"credential": need(ref("credential")),
	}, blocks{
		"cluster": {schema: part("path", attrs{
			"vsan_rdma": need(boolean()),
		}, nil).named("the path of a cluster, such as dc1/host/c1", entityName+`/host(/`+entityName+`)+`)},
	})
}

// entityName is what a name in a path of vCenter's inventory looks like.
const entityName = `[A-Za-z0-9_][A-Za-z0-9_. -]{0,79}`

func dvswitchSchema() *schema {
	return resource("name", attrs{
		"vcenter": need(ref("vcenter")),
		"path":    need(matching("a path such as dc1/network/weft-rdma", entityName+`/network(/`+entityName+`)+`)),
		"uplinks": need(refs("rnic")),
	}, blocks{
		"portgroup": {schema: part("name", attrs{
			"vlan": opt(integer(0, 4094)).orNumber(0),
		}, nil).named("the end of the name of a port group", `[A-Za-z0-9_][A-Za-z0-9_.-]{0,39}`)},
	})
}

func vmSchema() *schema {
	return resource("name", attrs{
		"path":             need(matching("a path such as dc1/vm/hpc1", entityName+`/vm(/`+entityName+`)+`)),
		"hardware_version": opt(integer(4, 99)),
	}, blocks{
		"pvrdma": {needed: true, schema: part("name", attrs{
			"portgroup":      need(ref("portgroup")),
			"protocol":       opt(oneOf("rocev1", "rocev2")).orText("rocev2"),
			"allow_degraded": opt(boolean()).or(cty.False),
		}, nil).named("the name of an adapter", `[A-Za-z0-9_][A-Za-z0-9_.-]{0,30}`)},
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
	for _, c := range o.all("cluster") {
		v.Clusters = append(v.Clusters, &inventory.Cluster{Block: b.block(c), Path: c.label, VSANRDMA: b.flag(c, "vsan_rdma")})
	}
	keep(o, v, &b.m.VCenters)
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
		g := &inventory.DVPortGroup{Block: b.block(c), Name: c.label, Switch: d, VLAN: b.integer(c, "vlan")}
		c.became = g
		d.PortGroups = append(d.PortGroups, g)
	}
	// A vmk names a port group, and the switch of that names the NIC: servers are made first.
	for _, r := range b.references(o, "uplinks") {
		nic, ok := r.became.(*inventory.RNIC)
		for _, v := range r.all("vmk") {
			if g := one[inventory.DVPortGroup](b, v, "portgroup"); ok && g != nil && g.Switch == d {
				nic.VMK.PortGroup = g
			}
		}
	}
	keep(o, d, &b.m.DVSwitches)
}

func (b *builder) vm(o *object) {
	v := &inventory.VM{Block: b.block(o), Name: o.fullName(), Path: b.text(o, "path"), HardwareVersion: b.integer(o, "hardware_version")}
	for _, c := range o.all("pvrdma") {
		v.Adapters = append(v.Adapters, &inventory.PVRDMA{
			Block: b.block(c), Name: c.label, PortGroup: one[inventory.DVPortGroup](b, c, "portgroup"),
			Protocol: b.text(c, "protocol"), AllowDegraded: b.flag(c, "allow_degraded"),
		})
	}
	keep(o, v, &b.m.VMs)
}
