package discover

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"weft/internal/agent"
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

// volumes writes pools and volumes, and finds each volume by its server and path.
func (d *draft) volumes(pairs map[half]pair) (list []instance, byPath map[half]address) {
	byPath = map[half]address{}
	var order []*cut
	cuts := map[half]*cut{}
	for _, n := range d.ordered() {
		pools := map[string]address{}
		groups, names := decoded[storage.VolumeGroup](d, n, "volume_group")
		for i, g := range groups {
			if label(names[i], "pool") != strings.ToLower(names[i]) {
				d.site.found(Error, n.Host, "write it by hand", "the pool %s has a name that is no label", names[i])
				continue
			}
			p := newInstance(n.under("pool", names[i]))
			p.set("server", to(n.address, ""))
			p.set("drives", strs(g.Drives))
			list, pools[g.Name] = append(list, p), p.address
		}
		volumes, names := decoded[storage.Volume](d, n, "volume")
		for i, v := range volumes {
			_, name, _ := strings.Cut(names[i], ".")
			pool, ok := pools[v.Group]
			if !ok || label(name, "volume") != strings.ToLower(name) {
				d.site.found(Error, n.Host, "write its block by hand", "the volume %s in %s is not written", names[i], v.Group)
				continue
			}
			c := &cut{half: half{n, v.Path()}, name: name, pool: pool, size: v.Bytes, lone: v.Half}
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
		list, byPath[c.half] = append(list, one), one.address
		if twin != nil {
			byPath[twin.half] = one.address
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

// elsewhere are exports of machines that were not asked, as their initiators know them.
func elsewhere(exports []*export, paths []path) (list []*export) {
	known := map[string]bool{}
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

// calledBy is how the connections to a subsystem call its target and itself.
func calledBy(x *export, paths []path) (target, subsystem string) {
	for _, p := range paths {
		if p.NQN != x.nqn {
			continue
		}
		name, _, _ := strings.Cut(p.name, "@")
		if i := strings.LastIndexByte(name, '.'); i > 0 {
			target, subsystem = name[:i], name[i+1:]
		}
		if x.server != nil && x.server.keyed {
			target = strings.TrimSuffix(target, "-"+x.server.key)
		}
		break
	}
	return label(target, "nvme"), label(subsystem, "data")
}

// storage writes pools, volumes, targets and initiators.
func (d *draft) storage() (list []instance) {
	exports, paths := d.exports(), d.paths()
	pairs := d.pairs(exports)
	list, byPath := d.volumes(pairs)
	paths = quicker(append(paths, d.probed(exports, paths)...), exports, pairs)
	exports = append(exports, d.others(exports)...)
	d.cutByOthers()
	exports = append(exports, elsewhere(exports, paths)...)
	targets := map[string]address{} // by NQN
	used := taken{}
	for _, x := range exports {
		t, sub := calledBy(x, paths)
		a := address{kind: "target", label: t}
		if x.server != nil {
			a = x.server.under("target", t)
		}
		for n := 2; used[a.String()]; n++ {
			a.label = fmt.Sprintf("%s-%d", t, n)
		}
		used[a.String()] = true
		targets[x.nqn] = a
		list = append(list, d.target(a, sub, x, paths, byPath))
	}
	return append(list, d.initiators(paths, targets)...)
}

func (d *draft) target(a address, sub string, x *export, paths []path, volumes map[half]address) instance {
	t := newInstance(a)
	if x.server != nil {
		t.set("server", to(x.server.address, ""))
	}
	if x.engine != "weft" {
		t.set("engine", str(x.engine))
	}
	t.set("transport", strs(x.transports))
	d.portals(t, x)
	x.asks.write(d, t, x.server)
	s := t.add("subsystem", sub)
	s.set("nqn", str(x.nqn))
	if x.server == nil {
		return t
	}
	if x.serial != usualSerial(x.nqn) {
		s.set("serial", str(x.serial))
	}
	if hosts := sorted(x.hosts); !slices.Equal(hosts, allowed(x.nqn, paths)) {
		s.set("allow_hosts", strs(hosts))
	}
	for _, ns := range x.spaces {
		in := s.add("namespace", fmt.Sprint(ns.id))
		v, ok := volumes[half{x.server, ns.path}]
		if !ok {
			d.site.found(Error, x.server.Host, "write it by hand", "namespace %d of %s is %s, which no volume that is written is", ns.id, x.nqn, ns.path)
			continue
		}
		in.set("from", to(v, ""))
		if ns.uuid != usualUUID(x.nqn, ns.id) {
			in.set("uuid", str(ns.uuid))
		}
		if ns.iops+ns.bandwidth > 0 {
			l := in.add("limits")
			if ns.iops > 0 {
				l.set("iops", number(ns.iops))
			}
			if ns.bandwidth > 0 {
				l.set("bandwidth", str(size(ns.bandwidth)))
			}
		}
	}
	return t
}

// portals names the NICs that have the addresses, and the addresses where none has.
func (d *draft) portals(t instance, x *export) {
	port := uint16(4420)
	out := raw("[")
	for i, p := range x.portals {
		if i > 0 {
			out = append(out, raw(", ")...)
		}
		if x.server != nil {
			if c := x.server.at(p.Addr()); c != nil {
				out, port = append(out, to(x.server.address, ".rnic."+c.label)...), p.Port()
				continue
			}
		}
		out = append(out, str(p.String())...)
	}
	t.set("portals", append(out, raw("]")...))
	if port != 4420 {
		t.set("port", number(int64(port)))
	}
}

func sorted(list []string) []string { return slices.Sorted(slices.Values(list)) }
