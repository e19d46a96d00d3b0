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
	spot
	*VCenter
	declared   *inventory.VCenter // nil: it does not stand in files
	credential string
	switches   []*dvswitch
	machines   []vcenter.StandingVM
	clusters   []vcenter.StandingCluster
}

// A dvswitch is a distributed switch as the files are to have it.
type dvswitch struct {
	label    string
	declared *inventory.DVSwitch // nil: it does not stand in files
	path     string
	groups   []portgroup
	uplinks  []uplink
}

type portgroup struct {
	name, label string // in vCenter, and in the files
	vlan        int
	hand        bool // nothing can refer to it: the block of its switch lacks it, or stands in a module
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
		if g, ok := s.group(group); ok && !g.hand && s.path == path {
			return s.reference(g), g
		}
	}
	return "", portgroup{}
}

// member reports whether a host has an uplink in the block of a switch in the files.
func (s *dvswitch) member(host string) bool {
	return s.declared != nil && slices.ContainsFunc(s.declared.Uplinks, func(r *inventory.RNIC) bool { return strings.EqualFold(hostOf(r.Server), host) })
}

// spread finds what vCenters have of the owner, and tells NICs of the ports that these gave
// them.
func (d *draft) spread() {
	labels := d.stands.labelled("dvswitch")
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
			if k.Owner == d.owner && !c.has(k.Path) {
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
		d.site.found(Info, c.Host, "weft does not adopt distributed switches: those in files are created by weft", "the distributed switch %s is not of weft's making: it is not written", s.Path)
		return
	default:
		d.site.found(Warn, c.Host, "discover them with --owner "+s.Owner, "the distributed switch %s belongs to the owner %s: it is not written", s.Path, s.Owner)
		return
	}
	out := &dvswitch{path: s.Path, declared: d.standingSwitch(c, s.Path)}
	module := c.hand // nothing outside can refer to what is in one
	if out.declared != nil {
		at := spotOf(&out.declared.Block)
		out.label, module = at.label, at.hand
	} else {
		out.label = labels.dashed(label(lastOf(s.Path), "dvswitch"))
	}
	for _, g := range s.Groups {
		rest, ok := s.Base(g.Name)
		switch {
		case g.Owner != d.owner:
			d.site.found(Info, c.Host, "weft leaves it alone", "the port group %s of %s is not of weft's making: it is not written", g.Name, s.Path)
		case !ok || label(rest, "") != strings.ToLower(rest) || g.VLAN < 0:
			d.site.found(Error, c.Host, "give it a single VLAN, and the name that weft gave it", "the port group %s of %s has a trunk, or is called as weft calls none: it is not written", g.Name, s.Path)
		default:
			out.groups = append(out.groups, portgroup{g.Name, rest, g.VLAN, module || out.lacks(rest)})
		}
	}
	for _, m := range s.Members {
		has := out.member(m.Host)
		if n := d.called(m.Host); n == nil {
			if has {
				continue // it stands in files, and was not named in this run
			}
			d.site.found(Error, m.Host, "name it with --hosts", "it is a member of the distributed switch %s, and was not read", s.Path)
		} else if len(m.PCI) != 1 {
			d.site.found(Error, n.Host, "leave it one uplink: weft declares one a host", "it is a member of the distributed switch %s with %d uplinks: it is not written there", s.Path, len(m.PCI))
		} else {
			known := n.told.Port(n.spelt(m.PCI[0]))
			known.Fabric = known.Fabric || known.Name != ""
			out.uplinks = append(out.uplinks, uplink{n, known.PCI})
			n.hand = n.hand || out.declared != nil && !has && !n.declared // its rnic has to stand among the uplinks
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
	if i >= 0 && on == "" && slices.ContainsFunc(c.switches[i].groups, func(g portgroup) bool { return g.name == p.Group && g.hand }) {
		d.site.found(Error, n.Host, "write that port group by hand, and discover again", "%s is on the port group %s, to which no file here can refer: it is not written, either", p.ID, p.Group)
		return
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
	for name := range d.stands.labelled("vcenter") {
		labels[name] = true
	}
	for _, v := range d.site.VCenters {
		if was := d.standingCenter(v.String()); was != nil {
			d.centers = append(d.centers, &center{spot: spotOf(&was.Block), VCenter: v, declared: was})
			continue
		}
		a, ok := known[v.String()]
		if !ok || a.kind != "vcenter" {
			a = address{kind: "vcenter", label: labels.dashed(label(short(v.Host), "vcenter"))}
		}
		d.centers = append(d.centers, &center{spot: spot{a, false}, VCenter: v})
	}
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
