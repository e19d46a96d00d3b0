package modules

import (
	"cmp"
	"fmt"

	"weft/internal/slice"
	"weft/inventory"
	"weft/inventory/catalogue"
	"weft/modules/esxi"
	"weft/modules/host"
	"weft/modules/linux"
	"weft/modules/windows"
)

// hostSystems are the host systems that weft manages: the one list.
func hostSystems() []*host.OS { return []*host.OS{linux.OS(), esxi.OS(), windows.OS()} }

// Blocks are the blocks in a server that kinds declare for themselves, for those who
// read files.
func Blocks() (all []*inventory.BlockType) {
	for _, os := range hostSystems() {
		for _, k := range os.Kinds() {
			if t := k.Words(); t != nil {
				all = append(all, t)
			}
		}
	}
	return all
}

// HostOS is the host system of a name; nil: weft does not manage it.
func HostOS(name string) *host.OS {
	name = cmp.Or(name, catalogue.UsualHostSystem()) // ledgers have named none
	return slice.First(hostSystems(), func(os *host.OS) bool { return os.Name == name })
}

// A hostSystem is one with its kinds, made once.
type hostSystem struct {
	os    *host.OS
	kinds []host.AnyKind
	named host.KindSet
}

// host is the host system of a name; nil: weft does not manage it.
func (x *expansion) host(name string) *host.OS {
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
		x.hosts[name] = &hostSystem{os, kinds, host.NewKindSet(kinds)}
		x.hosts[os.Name] = x.hosts[name]
	}
	return x.hosts[name].os
}

func (x *expansion) kindsOf(os *host.OS) []host.AnyKind { return x.hosts[os.Name].kinds }

// machine is the device of a server of which fabrics and storage ask something; false:
// there is none.
func (x *expansion) machine(s *inventory.Server) (*host.Machine, bool) {
	d := x.machines[addr(s)]
	return d, d != nil && d.OS().Lacks(host.Intents) == nil
}

// only refuses what a server's blocks ask for and its system has no kind for.
func (x *expansion) only(os *host.OS, s *inventory.Server) {
	for _, other := range hostSystems() {
		for _, k := range other.Kinds() {
			if x.hosts[os.Name].named[k.KindName()] != nil {
				continue
			}
			list, _ := k.DeclaredBy(nil, s)
			for _, b := range list {
				x.refuse(b.Range, s.Addr, fmt.Sprintf("%s %s, on os = %q", k.KindName(), b.Name, os.Name))
			}
		}
	}
	if os.Lacks(host.Intents) == nil {
		for _, r := range s.RNICs {
			if r.VMK != nil {
				x.refuse(r.VMK.Range, s.Addr, fmt.Sprintf("vmk of rnic %s, on os = %q", r.Name, os.Name))
			}
			if r.VLAN != 0 {
				x.refuse(r.At("vlan"), s.Addr, fmt.Sprintf("vlan of rnic %s, on os = %q", r.Name, os.Name))
			}
		}
		return
	}
	for _, r := range s.RNICs {
		if os.Port == nil {
			x.refuse(r.Range, s.Addr, fmt.Sprintf("rnic %s, on os = %q", r.Name, os.Name))
		}
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
		switch {
		case i.Server != s || os.Connect != nil:
		case os.Agent == nil:
			no(&i.Block, i.Server)
		case i.Engine != "none":
			x.refuse(i.Range, i.Addr, fmt.Sprintf("initiator of the kernel, on os = %q: engine = \"none\" has weft's probe read from there, and connects nothing", os.Name))
		case i.Key != nil || i.TLSKey != nil:
			x.refuse(i.Range, i.Addr, fmt.Sprintf("a key of %s, on os = %q: weft keeps none there", i.Addr, os.Name))
		}
	}
}
