package discover

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"

	"weft/internal/hint"
	"weft/inventory"
	"weft/modules/host"
	"weft/modules/vcenter"
)

// A Center is a vCenter that is named.
type Center struct {
	Host   string
	Port   int
	SHA256 string // of its certificate; "": authorities of this machine vouch for it
}

// String is what rosters call it.
func (c Center) String() string { return net.JoinHostPort(c.Host, strconv.Itoa(c.Port)) }

// A VCenter is what one has told.
type VCenter struct {
	Center
	*vcenter.Inventory
}

// A center is a vCenter as the files are to have it.
type center struct {
	address
	*VCenter
	credential string
	switches   []*dvswitch
	machines   []vcenter.StandingVM
	clusters   []vcenter.StandingCluster
}

// A dvswitch is a distributed switch as the files are to have it.
type dvswitch struct {
	label   string
	path    string
	groups  []portgroup
	uplinks []uplink
}

type portgroup struct {
	name, label string // in vCenter, and in the files
	vlan        int
}

// An uplink is a NIC of a member.
type uplink struct {
	node *node
	pci  string
}

// A reference is an expression that names a block.
type reference string

func (s *dvswitch) group(name string) (portgroup, bool) {
	i := slices.IndexFunc(s.groups, func(g portgroup) bool { return g.name == name })
	if i < 0 {
		return portgroup{}, false
	}
	return s.groups[i], true
}

func (s *dvswitch) reference(g portgroup) reference {
	return reference("dvswitch." + s.label + ".portgroup." + g.label)
}

// at is the port group of a switch that is written; "": it is not.
func (c *center) at(path, group string) (reference, portgroup) {
	for _, s := range c.switches {
		if g, ok := s.group(group); ok && s.path == path {
			return s.reference(g), g
		}
	}
	return "", portgroup{}
}

// spread finds what vCenters have of the owner, and tells NICs of the ports that these gave
// them.
func (d *draft) spread() {
	labels := taken{}
	for _, c := range d.centers {
		for _, s := range c.Switches {
			d.distribute(c, s, labels)
		}
		for _, p := range c.Ports {
			d.plug(c, p)
		}
		for _, v := range c.Machines {
			if v.Owner == d.owner && len(v.Adapters) > 0 {
				c.machines = append(c.machines, v)
			}
		}
		for _, k := range c.Clusters {
			if k.Owner == d.owner {
				c.clusters = append(c.clusters, k)
			}
		}
	}
}

// distribute takes a distributed switch of the owner in.
func (d *draft) distribute(c *center, s vcenter.StandingSwitch, labels taken) {
	switch s.Owner {
	case d.owner:
	case "":
		d.site.found(Info, c.Host, "weft takes over no distributed switch: those in files are of its own making", "the distributed switch %s is not of weft's making: it is not written", s.Path)
		return
	default:
		d.site.found(Warn, c.Host, "discover them with --owner "+s.Owner, "the distributed switch %s belongs to the owner %s: it is not written", s.Path, s.Owner)
		return
	}
	out := &dvswitch{label: labels.dashed(label(lastOf(s.Path), "dvswitch")), path: s.Path}
	for _, g := range s.Groups {
		rest, ok := s.Base(g.Name)
		switch {
		case g.Owner != d.owner:
			d.site.found(Info, c.Host, "weft leaves it alone", "the port group %s of %s is not of weft's making: it is not written", g.Name, s.Path)
		case !ok || label(rest, "") != strings.ToLower(rest) || g.VLAN < 0:
			d.site.found(Error, c.Host, "give it a single VLAN, and the name that weft gave it", "the port group %s of %s has a trunk, or is called as weft calls none: it is not written", g.Name, s.Path)
		default:
			out.groups = append(out.groups, portgroup{g.Name, rest, g.VLAN})
		}
	}
	for _, m := range s.Members {
		if n := d.called(m.Host); n == nil {
			d.site.found(Error, m.Host, "name it with --hosts", "it is a member of the distributed switch %s, and was not read", s.Path)
		} else if len(m.PCI) != 1 {
			d.site.found(Error, n.Host, "leave it one uplink: weft declares one a host", "it is a member of the distributed switch %s with %d uplinks: it is not written there", s.Path, len(m.PCI))
		} else {
			known := n.told.Port(n.spelt(m.PCI[0]))
			known.Fabric = known.Fabric || known.Name != ""
			out.uplinks = append(out.uplinks, uplink{n, known.PCI})
		}
	}
	c.switches = append(c.switches, out)
}

// plug tells the NIC of a port of the VMkernel what vCenter has made there.
func (d *draft) plug(c *center, p vcenter.StandingPort) {
	n := d.called(p.Host)
	if n == nil {
		return // told where it is a member
	}
	if p.Owner != d.owner {
		d.site.found(Info, n.Host, "weft takes over no port of the VMkernel", "%s on %s is not of weft's making: it is not written", p.ID, p.Group)
		return
	}
	on, g := c.at(p.Switch, p.Group)
	i := slices.IndexFunc(c.switches, func(s *dvswitch) bool { return s.path == p.Switch })
	u := -1
	if i >= 0 {
		u = slices.IndexFunc(c.switches[i].uplinks, func(u uplink) bool { return u.node == n })
	}
	if on == "" || u < 0 {
		d.site.found(Error, n.Host, "put it back where weft made it, or take it away", "%s is on a port group of no switch that is written, or its host is no member: it is not written", p.ID)
		return
	}
	t := n.told.Port(c.switches[i].uplinks[u].pci)
	t.Fabric, t.Address, t.VLAN = true, p.Address, g.vlan
	t.VMK = &host.DeclaredBlock{Kind: "vmk", Set: []host.Setting{host.Set("id", p.ID), host.Set("portgroup", on)}}
	if p.Stack != "" {
		t.VMK.Set = append(t.VMK.Set, host.Set("netstack", p.Stack))
	}
	n.tighten(t.VMK)
	n.moor(p.ID, t.PCI)
}

// moor has the NIC send what a port of the host's kernel sends, of which the host itself does
// not say where it goes out.
func (n *node) moor(port, pci string) {
	for _, a := range n.Facts.Adrift {
		for i := range n.Facts.NICs {
			if f := &n.Facts.NICs[i]; a.Name == port && a.MAC != "" && f.PCI == pci && !slices.Contains(f.Sends, a.MAC) {
				f.Sends = append(f.Sends, a.MAC)
			}
		}
	}
}

// tighten adds to a block what the ledger of the server knows of it.
func (n *node) tighten(b *host.DeclaredBlock) {
	for _, loose := range n.told.Loose {
		if loose.Kind != b.Kind || loose.Set[0].Value != b.Set[0].Value {
			continue
		}
		b.Set = append(b.Set, loose.Set[1:]...)
		n.told.Blocks = slices.DeleteFunc(n.told.Blocks, func(x host.DeclaredBlock) bool {
			return slices.ContainsFunc(loose.Makes, func(m host.DeclaredBlock) bool { return m.Kind == x.Kind && m.Label == x.Label })
		})
	}
}

// called is the server that vCenter calls so; nil: it was not read.
func (d *draft) called(name string) *node {
	for _, n := range d.nodes {
		if strings.EqualFold(n.Host, name) {
			return n
		}
	}
	return nil
}

// spelt is a PCI address as the server itself writes it.
func (n *node) spelt(pci string) string {
	for _, f := range n.Facts.NICs {
		if strings.EqualFold(f.PCI, pci) {
			return f.PCI
		}
	}
	return pci
}

// vcenters writes what vCenters have of the owner.
func (d *draft) vcenters() (list []instance) {
	machines := taken{}
	for _, c := range d.centers {
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
			b.add("cluster", k.Path).set("vsan_rdma", boolean(k.RDMA))
		}
		list = append(list, b)
	}
	for _, c := range d.centers {
		for _, s := range c.switches {
			b := newInstance(address{kind: "dvswitch", label: s.label})
			b.set("vcenter", to(c.address, ""))
			b.set("path", str(s.path))
			b.set("uplinks", d.uplinks(s))
			for _, g := range s.groups {
				in := b.add("portgroup", g.label)
				if g.vlan != 0 {
					in.set("vlan", number(int64(g.vlan)))
				}
			}
			list = append(list, b)
		}
		for _, v := range c.machines {
			list = append(list, d.machine(c, v, machines))
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
	if same && all == len(s.uplinks) {
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

func (d *draft) machine(c *center, v vcenter.StandingVM, labels taken) instance {
	b := newInstance(address{kind: "vm", label: labels.dashed(label(lastOf(v.Path), "vm"))})
	b.set("path", str(v.Path))
	for _, a := range v.Adapters {
		on, _ := c.at(a.Switch, a.Group)
		if on == "" {
			d.site.found(Error, c.Host, "write it by hand", "the adapter %s of %s is on a port group that is not written: it is not, either", a.Name, v.Path)
			continue
		}
		in := b.add("pvrdma", a.Name)
		in.set("portgroup", raw(string(on)))
		if a.Protocol != "rocev2" {
			in.set("protocol", str(a.Protocol))
		}
		if a.Degraded {
			in.setNoted("allow_degraded", boolean(true), "its host has no RDMA device on the uplink")
		}
	}
	return b
}

// readCenter asks a vCenter.
func (r *Reach) readCenter(ctx context.Context, c Center) (*VCenter, error) {
	have, err := r.VCenter(c).Inventory(ctx)
	if errors.As(err, new(*tls.CertificateVerificationError)) {
		return nil, hint.Wrap(err, "%s; here that is --vcenter %s=SHA256", hint.Of(err), strings.TrimSuffix(c.String(), fmt.Sprint(":", VCenterPort)))
	}
	if err != nil {
		return nil, err
	}
	return &VCenter{c, have}, nil
}

// centered gives each vCenter the address that the ledgers have for it, else one that follows
// from its host.
func (d *draft) centered(known map[string]address) {
	labels := taken{}
	for _, a := range known {
		labels[a.label] = true
	}
	for _, v := range d.site.VCenters {
		if d.base != nil {
			if !d.declares(v.String()) {
				d.site.found(Warn, v.Host, "write its blocks by hand, or discover into an empty directory and compare", "the files have no block of this vCenter, and none is added: a second run adds switches, servers and cables")
			}
			continue
		}
		a, ok := known[v.String()]
		if !ok || a.kind != "vcenter" {
			a = address{kind: "vcenter", label: labels.dashed(label(short(v.Host), "vcenter"))}
		}
		d.centers = append(d.centers, &center{address: a, VCenter: v})
	}
}

// declares reports whether the files that stand have a vCenter.
func (d *draft) declares(at string) bool {
	return d.base != nil && slices.ContainsFunc(d.base.VCenters, func(v *inventory.VCenter) bool { return Center{Host: v.Host, Port: v.Port}.String() == at })
}

// owners are those whose marks are there.
func (v *VCenter) owners() (list []string) {
	for _, s := range v.Switches {
		list = append(list, s.Owner)
	}
	for _, m := range v.Machines {
		list = append(list, m.Owner)
	}
	for _, k := range v.Clusters {
		list = append(list, k.Owner)
	}
	return slices.DeleteFunc(list, func(o string) bool { return o == "" })
}

// lastOf is what a path ends with.
func lastOf(path string) string { return path[strings.LastIndexByte(path, '/')+1:] }
