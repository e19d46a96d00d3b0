package modules

import (
	"cmp"
	"fmt"
	"slices"

	"weft/internal/slice"
	"weft/inventory"
	"weft/inventory/catalogue"
	"weft/modules/esxi"
	"weft/modules/host"
	"weft/modules/linux"
	"weft/modules/linux/nvme"
	"weft/modules/linux/system"
	"weft/modules/windows"
	"weft/plan"
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
			x.refuse(i.Range, i.Addr, fmt.Sprintf("kernel initiator on os = %q: engine = \"none\" uses weft's probe and creates no connections", os.Name))
		case i.Key != nil || i.TLSKey != nil:
			x.refuse(i.Range, i.Addr, fmt.Sprintf("key of %s on os = %q: weft stores no keys there", i.Addr, os.Name))
		}
	}
}

// expect tells a server which NICs its facts are to be compared with.
func (x *expansion) expect(d *host.Machine, s *inventory.Server) {
	if x.cables == nil {
		x.cables = map[*inventory.RNIC]*inventory.Link{}
		for _, l := range x.model.Links {
			for _, end := range []inventory.LinkEnd{l.From, l.To} {
				if end.RNIC != nil {
					x.cables[end.RNIC] = l
				}
			}
		}
	}
	for _, r := range s.RNICs {
		if r.Place() != "" {
			d.Expect(host.Expectation{RNIC: r, Link: x.cables[r], Hardware: x.hardware()})
		}
	}
}

// hardware is the catalogue.
func (x *expansion) hardware() *catalogue.Catalogue {
	if x.known == nil {
		known, err := catalogue.Load()
		if err != nil {
			panic(err) // it is part of weft; a test loads it
		}
		x.known = known
	}
	return x.known
}

// boot gives a server the unit that restores what these things lose.
func (x *expansion) boot(d *host.Machine, s *inventory.Server, part string, things []thing) {
	var lines []string
	var needs []plan.ID
	var connects []system.Connects
	for _, t := range things {
		if l := t.is.Boot(); len(l) > 0 {
			lines = append(lines, l...)
			needs = append(needs, t.id)
		}
		if n := host.Wish[nvme.NVMeConnection](t.is); n != nil {
			if options, ok := n.Unmarked(); ok {
				connects = append(connects, system.Connects{NQN: n.NQN, HostNQN: n.HostNQN, Address: n.Address.String(), Options: options})
			}
		}
		if t.id.Kind == nvme.NVMeTAccessKind().Name {
			needs = append(needs, t.id) // until then a restart admits whom it admitted
		}
	}
	if len(lines) > 0 {
		want := system.NewBoot(x.model.Name, part, lines, linux.AtBoot())
		want.Connects = connects
		x.thing(plan.ID{Device: s.Addr, Kind: "boot", Name: want.Name()}, system.BootKind().Want(d, want), s.Range, needs...)
	}
}

// memlock expands what programs on a server with RDMA need.
func (x *expansion) memlock(d *host.Machine, s *inventory.Server) {
	rdma := func(r *inventory.RNIC) bool { return r.Fabric != nil && r.Fabric.Transport != "tcp" }
	if i := slices.IndexFunc(s.RNICs, rdma); i >= 0 {
		user := ""
		if c := connection(x.model, s.Connection); c != nil {
			user = c.User
		}
		x.thing(plan.ID{Device: s.Addr, Kind: "memlock", Name: "rdma"}, system.MemlockKind().Want(d, system.NewMemlock(x.model.Name, user)), s.RNICs[i].Range)
	}
}
