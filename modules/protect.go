package modules

import (
	"slices"
	"strings"

	"weft/inventory"
	"weft/modules/host"
	"weft/plan"
)

// treat marks what blocks with protect or ignore_drift stand for. It comes
// after everything is expanded.
func (x *expansion) treat() {
	protect, ignore := scopes{}, scopes{}
	blocks := x.treated()
	x.place(blocks)
	for _, b := range blocks {
		if b.Protect {
			protect.add(b.whole)
		}
		for _, path := range b.IgnoreDrift {
			if part := b.part(path); len(part) > 0 {
				ignore.add(part)
			} else {
				x.refuse(b.At("ignore_drift"), b.Addr, "ignore_drift of "+path)
			}
		}
	}
	if len(protect)+len(ignore) == 0 {
		return
	}
	for i := range x.fleet.Items {
		item := &x.fleet.Items[i]
		item.Protect, item.IgnoreDrift = protect.hold(item.ID), ignore.hold(item.ID)
	}
}

// place says of every item which blocks it is a part of, and in which plane.
func (x *expansion) place(blocks []treated) {
	of := map[plan.ID][]string{}
	for _, b := range blocks {
		for _, id := range b.whole {
			of[id] = append(of[id], b.Addr)
		}
	}
	planes := map[plan.ID]string{}
	for _, sw := range x.model.Switches {
		planes[plan.ID{Device: sw.Addr}] = sw.Plane
	}
	for nic, ids := range x.nics {
		if nic.Plane == nil {
			continue
		}
		for _, id := range ids {
			planes[id] = nic.Plane.Name
		}
	}
	for i := range x.fleet.Items {
		item := &x.fleet.Items[i]
		item.Blocks = append(of[item.ID], item.ID.Device)
		if item.Plane = planes[item.ID]; item.Plane == "" {
			item.Plane = planes[plan.ID{Device: item.ID.Device}]
		}
	}
}

// scopes are resources: those with that ID, and where the name or the kind of
// one is empty all of its device that have the rest.
type scopes map[plan.ID]bool

func (s scopes) add(ids []plan.ID) {
	for _, id := range ids {
		s[id] = true
	}
}

func (s scopes) hold(id plan.ID) bool {
	return s[id] || s[plan.ID{Device: id.Device, Kind: id.Kind}] || s[plan.ID{Device: id.Device}]
}

// A treated block stands for resources, as a whole and in parts that can be
// told from the rest of it.
type treated struct {
	*inventory.Block
	whole []plan.ID
	part  func(path string) []plan.ID // none: it is no resource of its own
}

func (x *expansion) treated() []treated {
	m := x.model
	var list []treated
	none := func(string) []plan.ID { return nil }
	add := func(b *inventory.Block, part func(string) []plan.ID, whole ...plan.ID) {
		list = append(list, treated{b, whole, part})
	}
	agent := func(s *inventory.Server, name string) plan.ID {
		return plan.ID{Device: addr(s), Kind: "agent", Name: name}
	}
	for _, f := range m.Fabrics {
		add(&f.Block, x.partOfFabric(f), x.nicsOf(f)...)
	}
	for _, s := range m.Switches {
		add(&s.Block, none, plan.ID{Device: s.Addr})
	}
	for _, s := range m.Servers {
		add(&s.Block, x.partOfServer(s), plan.ID{Device: s.Addr})
	}
	for _, s := range m.DVSwitches {
		add(&s.Block, none, x.stands[&s.Block]...)
	}
	for _, v := range m.VMs {
		add(&v.Block, none, x.stands[&v.Block]...)
	}
	for _, l := range m.Links {
		add(&l.Block, none, x.partsOfLink(l)...)
	}
	for _, p := range m.Pools {
		add(&p.Block, none, x.stands[&p.Block]...)
	}
	for _, v := range m.Volumes {
		if whole := x.stands[&v.Block]; len(whole) > 0 {
			add(&v.Block, none, whole...)
		} else {
			add(&v.Block, none, agent(v.Pool.Server, "weft-target"))
		}
	}
	for _, t := range m.Targets {
		add(&t.Block, none, x.stands[&t.Block]...)
	}
	for _, i := range m.Initiators {
		add(&i.Block, none, append(x.stands[&i.Block], agent(i.Server, "weft-initiator"))...)
	}
	return list
}

// partsOfLink are the settings of the NICs at its ends, and of their ports.
func (x *expansion) partsOfLink(l *inventory.Link) []plan.ID {
	var ids []plan.ID
	for _, nic := range []*inventory.RNIC{l.From.RNIC, l.To.RNIC} {
		if nic == nil {
			continue
		}
		if port, ok := x.ports[nic]; ok {
			ids = append(ids, port)
		}
		ids = append(ids, x.nics[nic]...)
	}
	return ids
}

// nicsOf are the resources that a fabric asks of NICs, but for their
// addresses.
func (x *expansion) nicsOf(f *inventory.Fabric) []plan.ID {
	var ids []plan.ID
	for _, r := range x.model.RNICs() {
		if r.Fabric == f {
			ids = append(ids, x.nics[r]...)
		}
	}
	return ids
}

// partOfFabric knows what one kind of resource keeps alone. What else a fabric says
// is said to switches too, which remember nothing that could tell drift from a change
// of mind.
func (x *expansion) partOfFabric(f *inventory.Fabric) func(string) []plan.ID {
	return func(path string) []plan.ID {
		return slices.DeleteFunc(x.nicsOf(f), func(id plan.ID) bool {
			k, ok := x.kindOf(id)
			return !ok || path == "" || k.OfFabric() != path
		})
	}
}

// kindOf is the kind of a resource on a machine.
func (x *expansion) kindOf(id plan.ID) (host.AnyKind, bool) {
	d := x.machines[id.Device]
	if d == nil {
		return nil, false
	}
	k, ok := d.Known()[id.Kind]
	return k, ok
}

// partOfServer knows the small blocks, all of a kind or one of them, and what kinds
// have parts of others for. A longer path names an attribute, which is no resource of
// its own.
func (x *expansion) partOfServer(s *inventory.Server) func(string) []plan.ID {
	return func(path string) []plan.ID {
		d := x.machines[s.Addr]
		if d == nil {
			return nil
		}
		for _, k := range x.kindsOf(d.OS()) {
			if name, ok := k.PartNamed(path); ok {
				return []plan.ID{{Device: s.Addr, Kind: k.KindName(), Name: name}}
			}
		}
		kind, name, _ := strings.Cut(path, ".")
		k, ok := d.Known()[kind]
		if !ok {
			return nil
		}
		list, ok := k.DeclaredBy(nil, s)
		if ok && name == "" {
			return []plan.ID{{Device: s.Addr, Kind: kind}}
		}
		for _, b := range list {
			if name == b.Name || name == b.Also {
				return []plan.ID{{Device: s.Addr, Kind: kind, Name: b.Name}}
			}
		}
		return nil
	}
}
