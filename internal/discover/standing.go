package discover

import (
	"cmp"
	"slices"
	"strings"

	"weft/inventory"
)

// standing is what the files that stand have, by what devices tell of it. Where there are
// no files all of it is empty.
type standing struct {
	labels     map[string]*inventory.Block // the first instance of each block, by KIND.LABEL
	instances  map[string]int              // how many there are of a block, by its address
	machines   map[string]*inventory.Server
	pools      map[place]*inventory.Pool // by a drive
	volumes    map[cutting]*inventory.Volume
	subsystems map[string]serving // by NQN
	portals    map[place]*inventory.Target
	initiators map[string][]*inventory.Initiator // by host
	connected  map[place]bool                    // to an NQN, and to a target by its address
	cabled     map[place]*inventory.Link         // by the label of a NIC, or a port
}

// A place is something of a host: a drive, an address, a port.
type place struct{ host, what string }

// A cutting is a volume by its pool and the name that it has in there.
type cutting struct {
	pool *inventory.Pool
	name string
}

// A serving is a subsystem with its target.
type serving struct {
	target    *inventory.Target
	subsystem *inventory.Subsystem
}

// stand indexes the files that stand.
func stand(m *inventory.Model) *standing {
	s := &standing{labels: map[string]*inventory.Block{}, instances: map[string]int{}, machines: map[string]*inventory.Server{},
		pools: map[place]*inventory.Pool{}, volumes: map[cutting]*inventory.Volume{}, subsystems: map[string]serving{}, portals: map[place]*inventory.Target{},
		initiators: map[string][]*inventory.Initiator{}, connected: map[place]bool{}, cabled: map[place]*inventory.Link{}}
	if m == nil {
		return s
	}
	for _, one := range m.Servers {
		s.take(&one.Block)
		s.machines[one.Host] = one
	}
	for _, p := range m.Pools {
		s.take(&p.Block)
		for _, drive := range p.Drives {
			s.pools[place{hostOf(p.Server), drive}] = p
		}
	}
	for _, v := range m.Volumes {
		if s.take(&v.Block); v.Pool == nil {
			continue
		}
		s.volumes[cutting{v.Pool, inventory.NameOnDevice(v.Origin(), v.Pool.Origin())}] = v
		for _, p := range v.Mirror {
			of := v.Pool
			if v.Across() {
				of = p
			}
			s.volumes[cutting{p, inventory.NameOnDevice(v.Origin(), of.Origin()) + secondHalf}] = v
		}
	}
	s.storage(m)
	s.network(m)
	return s
}

// storage indexes who serves and who connects.
func (s *standing) storage(m *inventory.Model) {
	for _, t := range m.Targets {
		s.take(&t.Block)
		for _, p := range t.Portals {
			if t.Server != nil {
				s.portals[place{hostOf(t.Server), p.Address.String()}] = t
			}
		}
		for _, sub := range t.Subsystems {
			s.subsystems[sub.NQN] = serving{t, sub}
		}
	}
	for _, i := range m.Initiators {
		s.take(&i.Block)
		at := hostOf(i.Server)
		s.initiators[at] = append(s.initiators[at], i)
		for _, c := range i.Connects {
			for _, t := range c.To {
				s.connected[place{at, t.Addr}] = true
				for _, sub := range t.Subsystems {
					s.connected[place{at, sub.NQN}] = true
				}
			}
		}
	}
}

// network indexes cables, and the blocks of vCenters.
func (s *standing) network(m *inventory.Model) {
	for _, l := range m.Links {
		for _, e := range []inventory.LinkEnd{l.From, l.To} {
			switch {
			case e.RNIC != nil:
				s.cabled[place{hostOf(e.RNIC.Server), e.RNIC.Name}] = l
			case e.Switch != nil && e.Switch.Host != "":
				s.cabled[place{e.Switch.Host, e.Port}] = l
			}
		}
	}
	for _, v := range m.VCenters {
		s.take(&v.Block)
	}
	for _, d := range m.DVSwitches {
		s.take(&d.Block)
	}
	for _, v := range m.VMs {
		s.take(&v.Block)
	}
}

// take counts an instance.
func (s *standing) take(b *inventory.Block) {
	block := inventory.BlockOf(b.Addr)
	if s.instances[block]++; s.labels[block] == nil {
		s.labels[block] = b
	}
}

// has reports whether the files have a block of that kind and label.
func (s *standing) has(one instance) bool {
	return s.labels[inventory.BlockOf(one.address.String())] != nil
}

// has reports whether it has a namespace.
func (s serving) has(id uint32) bool {
	return slices.ContainsFunc(s.subsystem.Namespaces, func(n *inventory.Namespace) bool { return n.ID == id })
}

func hostOf(s *inventory.Server) string {
	if s == nil {
		return ""
	}
	return s.Host
}

// pool is the one of a server that has any of the drives; nil: none has.
func (s *standing) pool(host string, drives []string) *inventory.Pool {
	for _, drive := range drives {
		if p := s.pools[place{host, drive}]; p != nil {
			return p
		}
	}
	return nil
}

// sharing is the target of a server that has one of the portals, which no other can have.
func (s *standing) sharing(x *export) *inventory.Target {
	for _, p := range x.portals {
		if t := s.portals[place{x.server.Host, p.String()}]; t != nil {
			return t
		}
	}
	return nil
}

// labelled are the labels that blocks of a kind have.
func (s *standing) labelled(kind string) taken {
	used := taken{}
	for block := range s.labels {
		if of, name, _ := strings.Cut(block, "."); of == kind {
			used[name] = true
		}
	}
	return used
}

// free is the first label like a wish that no block of the files has: all that wish for it
// get the same.
func (s *standing) free(kind, wish string) string {
	return s.labelled(kind).dashed(wish)
}

// standsCabled reports whether the files have a cable at either of two ends, and tells where it
// leads elsewhere.
func (d *draft) standsCabled(what string, a, b place) bool {
	one, two := d.stands.cabled[a], d.stands.cabled[b]
	if l := cmp.Or(one, two); l != nil && one != two {
		d.site.found(Warn, a.host, "see weft verify cabling: plug it there, or change the link", "%s, and %s at %s has it elsewhere: no link is added", what, l.Addr, at(&l.Block))
	}
	return one != nil || two != nil
}

// A spot is where something stands, or is to stand, in the files.
type spot struct {
	address
	hand bool // it is none that a reference can name yet: a person has to write it
}

// spotOf is where a block of the files stands. In a module nothing else can refer to it.
func spotOf(b *inventory.Block) spot {
	a, ok := parseAddress(b.Addr)
	if !ok {
		block := inventory.BlockOf(b.Addr)
		i := strings.LastIndex(block, ".")
		key := inventory.KeyOf(b.Addr)
		return spot{address{kind: block[:i], label: block[i+1:], key: key, keyed: key != ""}, true}
	}
	return spot{a, false}
}

// origin is the address that names on a device follow from.
func origin(b *inventory.Block) (address, bool) { return parseAddress(b.Origin()) }

// inFiles reports whether a switch or a server stands in files.
func (d *draft) inFiles(host string) bool {
	return d.stands.machines[host] != nil || d.base != nil && slices.ContainsFunc(d.base.Switches, func(s *inventory.Switch) bool { return s.Host == host })
}
