package discover

import (
	"encoding/json"
	"net/netip"
	"slices"
	"strings"

	"weft/internal/agent"
	"weft/inventory"
	"weft/modules/linux/nvme"
	"weft/modules/linux/storage"
)

// The parts of storage that weft's ledgers know. That they stand so is for the plan to
// prove.

// An export is a subsystem that a server serves.
type export struct {
	server     *node // nil: nobody who was asked
	engine     string
	nqn        string
	serial     string
	hosts      []string
	transports []string
	asks       asked
	portals    []netip.AddrPort
	spaces     []space
}

// A space is a namespace.
type space struct {
	id              uint32
	uuid, path      string
	twin            string // of a mirror that the server keeps: the path of its second half
	iops, bandwidth int64
}

// decoded are the entries of a kind in the owner's ledger, as weft applied them.
func decoded[T any](d *draft, n *node, kind string) (list []T, names []string) {
	for _, e := range n.entries(d.owner, kind) {
		var v T
		if err := json.Unmarshal(e.Applied, &v); err != nil || len(e.Applied) == 0 {
			d.site.found(Error, n.Host, "apply again with the files that made it", "the ledger's entry %s cannot be read", e.Key())
			continue
		}
		list, names = append(list, v), append(names, e.Name)
	}
	return list, names
}

// A pool is one as files have it, or are to have it.
type pool struct {
	spot
	origin   address         // that names on devices follow from
	name     string          // on its server
	declared *inventory.Pool // nil: it does not stand in files
}

// pools writes those of a server that do not stand in files, and finds each by its group.
func (d *draft) pools(n *node) (list []instance, byGroup map[string]pool) {
	byGroup = map[string]pool{}
	groups, names := decoded[storage.VolumeGroup](d, n, "volume_group")
	for i, g := range groups {
		if was := d.stands.pool(n.Host, g.Drives); was != nil {
			p := pool{spot: spotOf(&was.Block), name: names[i], declared: was}
			p.origin, _ = origin(&was.Block)
			byGroup[g.Name] = p
			continue
		}
		if label(names[i], "pool") != strings.ToLower(names[i]) {
			d.site.found(Error, n.Host, "write it by hand", "the pool %s has a name that is no label", names[i])
			continue
		}
		one := newInstance(n.origin.under("pool", names[i]))
		one.set("server", to(n.address, ""))
		one.set("drives", strs(g.Drives))
		p := pool{spot: spot{one.address, n.hand || d.stands.has(one)}, origin: one.address, name: names[i]}
		if byGroup[g.Name] = p; p.hand {
			d.wholly(n, one)
			continue
		}
		list = append(list, one)
	}
	return list, byGroup
}

// volumes writes pools and volumes that do not stand in files, and finds each volume by its
// server and path.
func (d *draft) volumes(pairs map[half]pair) (list []instance, byPath map[half]spot) {
	byPath = map[half]spot{}
	var order []*cut
	cuts := map[half]*cut{}
	for _, n := range d.ordered() {
		written, pools := d.pools(n)
		list = append(list, written...)
		volumes, names := decoded[storage.Volume](d, n, "volume")
		for i, v := range volumes {
			p, ok := pools[v.Group]
			name := strings.TrimPrefix(names[i], p.name+".")
			if was := d.stands.volumes[cutting{p.declared, name}]; p.declared != nil && was != nil {
				byPath[half{n, v.Path()}] = spotOf(&was.Block)
				continue
			}
			if !ok || label(name, "volume") != strings.ToLower(name) {
				d.site.found(Error, n.Host, "write its block by hand", "the volume %s in %s is not written", names[i], v.Group)
				continue
			}
			c := &cut{half: half{n, v.Path()}, name: name, pool: p, size: v.Bytes, lone: v.Half}
			order, cuts[c.half] = append(order, c), c
		}
	}
	for _, c := range order {
		if strings.HasSuffix(c.name, secondHalf) {
			continue // the first one has it
		}
		one, twin, ok := d.volume(c, pairs, cuts)
		if !ok {
			continue
		}
		at := spot{one.address, c.pool.hand || twin != nil && twin.pool.hand || d.stands.has(one)}
		if at.hand {
			d.wholly(c.server, one)
		} else {
			list = append(list, one)
		}
		if byPath[c.half] = at; twin != nil {
			byPath[twin.half] = at
		}
	}
	for _, c := range order {
		if _, ok := byPath[c.half]; !ok {
			d.site.found(Error, c.server.Host, "discover the servers that have its halves together with the host that mirrors them, or write its block by hand",
				"the volume %s is half of a mirror of which not all was read: it is not written", c.path)
		}
	}
	return list, byPath
}

// exports are what the ledgers say is served.
func (d *draft) exports() (list []*export) {
	for _, n := range d.ordered() {
		agents, names := decoded[nvme.Agent](d, n, "agent")
		for i, a := range agents {
			if names[i] != "weft-target" {
				continue
			}
			cfg, err := agent.ParseTarget([]byte(a.Config))
			if err != nil {
				d.site.found(Error, n.Host, "apply again with the files that made it", "the configuration of weft-target in the ledger: %v", err)
				continue
			}
			list = append(list, served(n, cfg)...)
		}
		subsystems, _ := decoded[nvme.NVMeTSubsystem](d, n, "nvmet_subsystem")
		auths, _ := decoded[nvme.NVMeTAuth](d, n, "nvmet_auth")
		ports, _ := decoded[nvme.NVMeTPort](d, n, "nvmet_port")
		for _, s := range subsystems {
			x := &export{server: n, engine: "nvmet", nqn: s.NQN, serial: s.Serial, hosts: s.Hosts, asks: kernelAsks(s.Hosts, auths)}
			for _, p := range ports {
				if slices.Contains(p.Subsystems, s.NQN) {
					x.at(p.Transport, p.Address)
				}
			}
			for id, ns := range s.Namespaces {
				x.spaces = append(x.spaces, space{id: id, uuid: ns.UUID, path: ns.Path})
			}
			slices.SortFunc(x.spaces, func(a, b space) int { return int(a.id) - int(b.id) })
			list = append(list, x)
		}
	}
	return list
}

func (x *export) at(transport string, a netip.AddrPort) {
	if !slices.Contains(x.transports, transport) {
		x.transports = append(x.transports, transport)
	}
	if !slices.Contains(x.portals, a) {
		x.portals = append(x.portals, a)
	}
}

// served is what a weft-target has.
func served(n *node, cfg *agent.Target) (list []*export) {
	for _, s := range cfg.Subsystems {
		x := &export{server: n, engine: "weft", nqn: s.NQN, serial: s.Serial, hosts: s.AllowHosts, asks: weftAsks(cfg, s)}
		for _, p := range cfg.Portals {
			if a, err := netip.ParseAddrPort(p.Address); err == nil && s.ServedAt(p.Address) {
				x.at(p.Transport, a)
			}
		}
		for _, ns := range s.Namespaces {
			one := space{id: ns.ID, uuid: ns.UUID, path: ns.Path, iops: int64(ns.IOPS), bandwidth: int64(ns.Bandwidth)}
			if len(ns.Mirror) == 2 {
				one.path, one.twin = ns.Mirror[0], ns.Mirror[1]
			}
			x.spaces = append(x.spaces, one)
		}
		list = append(list, x)
	}
	return list
}

// elsewhere are exports of machines that were not asked, as their initiators know them, and
// that do not stand in files.
func (d *draft) elsewhere(exports []*export, paths []path) (list []*export) {
	known := map[string]bool{}
	for nqn := range d.stands.subsystems {
		known[nqn] = true
	}
	for _, x := range exports {
		known[x.nqn] = true
	}
	for _, p := range paths {
		if known[p.NQN] {
			continue
		}
		i := slices.IndexFunc(list, func(x *export) bool { return x.nqn == p.NQN })
		if i < 0 {
			i, list = len(list), append(list, &export{engine: "external", nqn: p.NQN})
		}
		list[i].at(p.Transport, p.Address)
		list[i].asks.proves = list[i].asks.proves || len(p.CtrlKey) > 0
		if p.Instead != "" {
			list[i].at(p.Instead, p.Address)
		}
	}
	return list
}
