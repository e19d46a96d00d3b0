package discover

import (
	"weft/modules/vcenter"
)

// vcenters writes what vCenters have of the owner, and does not stand in files.
func (d *draft) vcenters() (list []instance) {
	machines := d.stands.labelled("vm")
	for _, c := range d.centers {
		if c.declared != nil {
			d.centerLacks(c)
			continue
		}
		b := newInstance(c.address)
		b.set("host", str(c.Host))
		if c.Port != VCenterPort {
			b.set("port", number(int64(c.Port)))
		}
		if c.SHA256 != "" {
			b.setNoted("tls_sha256", str(c.SHA256), "of its certificate")
		}
		b.set("credential", raw("credential."+c.credential))
		for _, k := range c.clusters {
			b.body = append(b.body, item{in: cluster(k)})
		}
		list = append(list, b)
	}
	for _, c := range d.centers {
		for _, s := range c.switches {
			if s.declared != nil {
				d.switchLacks(c, s)
				continue
			}
			if d.outOfReach(c, s) {
				continue
			}
			b := newInstance(address{kind: "dvswitch", label: s.label})
			b.set("vcenter", to(c.address, ""))
			b.set("path", str(s.path))
			b.set("uplinks", d.uplinks(s))
			for _, g := range s.groups {
				b.body = append(b.body, item{in: g.block()})
			}
			list = append(list, b)
		}
		for _, v := range c.machines {
			if was := d.standingVM(c, v.Path); was != nil {
				d.machineLacks(c, v, was)
			} else if one, ok := d.machine(c, v, machines); ok {
				list = append(list, one)
			}
		}
	}
	return list
}

// VCenterPort is that of a vCenter that says no other.
const VCenterPort = 443

// uplinks are the NICs of a distributed switch: of all instances of a block the same one, or
// each by itself.
func (d *draft) uplinks(s *dvswitch) expr {
	if len(s.uplinks) == 0 {
		return raw("[]")
	}
	first, of := s.uplinks[0].node, map[*node]string{}
	same := first.keyed
	for _, u := range s.uplinks {
		for _, k := range u.node.cards {
			if k.nic.PCI == u.pci {
				of[u.node] = k.label
			}
		}
		same = same && u.node.label == first.label && of[u.node] == of[first]
	}
	all := 0
	for _, n := range d.nodes {
		if n.label == first.label {
			all++
		}
	}
	if same && max(all, d.stands.instances["server."+first.label]) == len(s.uplinks) {
		return raw("[for s in server." + first.label + " : s.rnic." + of[first] + "]")
	}
	out := raw("[")
	for i, u := range s.uplinks {
		if i > 0 {
			out = append(out, raw(", ")...)
		}
		out = append(out, to(u.node.address, ".rnic."+of[u.node])...)
	}
	return append(out, raw("]")...)
}

// machine writes a virtual machine; false: with no adapter that can be written.
func (d *draft) machine(c *center, v vcenter.StandingVM, labels taken) (b instance, some bool) {
	b = newInstance(address{kind: "vm", label: labels.dashed(label(lastOf(v.Path), "vm"))})
	b.set("path", str(v.Path))
	for _, a := range v.Adapters {
		if in := d.adapter(c, v, a); in != nil {
			b.body, some = append(b.body, item{in: in}), true
		}
	}
	return b, some
}

// adapter writes one; nil: its port group is not written.
func (d *draft) adapter(c *center, v vcenter.StandingVM, a vcenter.StandingAdapter) *block {
	on, _ := c.at(a.Switch, a.Group)
	if on == "" {
		d.site.found(Error, c.Host, "write that port group by hand, and discover again", "the adapter %s of %s is on the port group %s, to which no file here can refer: it is not written, either", a.Name, v.Path, a.Group)
		return nil
	}
	in := &block{kind: "pvrdma", labels: []string{a.Name}}
	in.set("portgroup", raw(string(on)))
	if a.Protocol != "rocev2" {
		in.set("protocol", str(a.Protocol))
	}
	if a.Degraded {
		in.setNoted("allow_degraded", boolean(true), "its host has no RDMA device on the uplink")
	}
	return in
}

func (g portgroup) block() *block {
	in := &block{kind: "portgroup", labels: []string{g.label}}
	if g.vlan != 0 {
		in.set("vlan", number(int64(g.vlan)))
	}
	return in
}

func cluster(k vcenter.StandingCluster) *block {
	in := &block{kind: "cluster", labels: []string{k.Path}}
	in.set("vsan_rdma", boolean(k.RDMA))
	return in
}
