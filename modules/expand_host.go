package modules

import (
	"fmt"

	"weft/inventory"
)

// HostOS is the host system of a name; nil: weft does not manage it.
func HostOS(name string) *OS {
	if name == "linux" || name == "" { // ledgers have named none
		return Linux()
	}
	return nil
}

// A hostSystem is one with its kinds, made once.
type hostSystem struct {
	os    *OS
	kinds []AnyKind
	named kindSet
}

// host is the host system of a name; nil: weft does not manage it.
func (x *expansion) host(name string) *OS {
	if x.hosts[name] == nil {
		find := HostOS
		if x.env.HostOS != nil {
			find = x.env.HostOS
		}
		os := find(name)
		if os == nil {
			return nil
		}
		kinds := os.Kinds()
		x.hosts[name] = &hostSystem{os, kinds, newKindSet(kinds)}
		x.hosts[os.Name] = x.hosts[name]
	}
	return x.hosts[name].os
}

func (x *expansion) kindsOf(os *OS) []AnyKind { return x.hosts[os.Name].kinds }

// machine is the device of a server of which fabrics and storage ask something; false:
// there is none.
func (x *expansion) machine(s *inventory.Server) (*server, bool) {
	d, ok := x.fleet.Devices[addr(s)].(*server)
	return d, ok && d.os.Lacks(Intents) == nil
}

// only refuses what a server's blocks ask for and its system has no kind for.
func (x *expansion) only(os *OS, s *inventory.Server) {
	for _, k := range Kinds() {
		if x.hosts[os.Name].named[k.name()] != nil {
			continue
		}
		list, _ := k.blocks(nil, s)
		for _, b := range list {
			x.refuse(b.Range, s.Addr, fmt.Sprintf("%s %s, on os = %q", k.name(), b.name, os.Name))
		}
	}
	if os.Lacks(Intents) == nil {
		return
	}
	for _, r := range s.RNICs {
		x.refuse(r.Range, s.Addr, fmt.Sprintf("rnic %s, on os = %q", r.Name, os.Name))
	}
	no := func(b *inventory.Block, of *inventory.Server) {
		if of == s {
			x.refuse(b.Range, b.Addr, fmt.Sprintf("storage of %s, on os = %q", s.Addr, os.Name))
		}
	}
	for _, p := range x.model.Pools {
		no(&p.Block, p.Server)
	}
	for _, t := range x.model.Targets {
		no(&t.Block, t.Server)
	}
	for _, i := range x.model.Initiators {
		no(&i.Block, i.Server)
	}
}
