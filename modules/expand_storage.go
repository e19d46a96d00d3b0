package modules

import (
	"fmt"
	"net/netip"
	"slices"

	"weft/internal/slice"
	"weft/inventory"
	"weft/inventory/problem"
	"weft/modules/esxi"
	"weft/modules/host"
	"weft/modules/linux/nvme"
	"weft/modules/linux/storage"
	"weft/modules/linux/system"
	"weft/plan"
)

// storage expands what servers keep, export and connect to, and the units that
// bring it back after a restart.
func (x *expansion) storage() {
	since := len(x.things)
	for _, p := range x.model.Pools {
		x.pool(p)
	}
	for _, v := range x.model.Volumes {
		x.volume(v)
	}
	x.targets()
	x.nvmetTargets()
	x.connections()
	x.endAccess()
	x.mirrors()
	x.probes()
	x.probeKeys()
	of := map[string][]thing{}
	for _, t := range x.things[since:] {
		of[t.id.Device] = append(of[t.id.Device], t)
	}
	for _, s := range x.model.Servers {
		if d, ok := x.machine(s); ok {
			x.boot(d, s, system.BootStorage, of[s.Addr])
		}
	}
}

// stand notes what a block stands for.
func (x *expansion) stand(b *inventory.Block, ids ...plan.ID) {
	x.stands[b] = append(x.stands[b], ids...)
}

func (x *expansion) pool(p *inventory.Pool) {
	d, ok := x.machine(p.Server)
	if !ok {
		return
	}
	name := inventory.NameOnDevice(p.Origin(), p.Server.Origin())
	if p.OnExistingData == "wipe" {
		x.refuse(p.At("on_existing_data"), p.Addr, `on_existing_data = "wipe"`)
		return
	}
	want := &storage.VolumeGroup{Name: storage.GroupName(x.model.Name, name), Owner: x.model.Name, Drives: p.Drives,
		Keep: p.OnExistingData == "keep", Later: installs(p.Server, "lvm2"), Served: x.served(p)}
	x.stand(&p.Block, x.thing(plan.ID{Device: p.Server.Addr, Kind: "volume_group", Name: name}, storage.VolumeGroupKind().Want(d, want), p.At("drives"), x.packages(p.Server)...))
}

// served says in which blocks volumes of a pool are handed on by weft-target; nil: by none.
func (x *expansion) served(p *inventory.Pool) *storage.Served {
	for _, t := range x.model.Targets {
		if t.Engine != "weft" || t.Server != p.Server {
			continue
		}
		for _, sub := range t.Subsystems {
			for _, ns := range sub.Namespaces {
				if ns.From == nil || ns.From.Pool != p && !slices.Contains(ns.From.Mirror, p) {
					continue
				}
				return x.servedBy(t, ns)
			}
		}
	}
	return nil
}

func (x *expansion) servedBy(t *inventory.Target, ns *inventory.Namespace) *storage.Served {
	s := &storage.Served{Block: blockSize, By: t.Addr + " (" + problem.Where(ns.Range) + ")",
		Hint: `use a drive with 512-byte blocks, or reformat this one, which destroys its data (nvme id-ns -H lists its formats); engine = "nvmet" serves larger blocks to Linux hosts`}
	for _, i := range x.model.Initiators {
		if i.Server != nil && i.Server.OS == esxi.OS().Name && slices.ContainsFunc(i.Connects, func(c *inventory.Connect) bool { return slices.Contains(c.To, t) }) {
			s.Hint = i.Server.Addr + " connects to it, and ESXi accepts only 512-byte blocks: use such a drive, or reformat this one, which destroys its data (nvme id-ns -H lists its formats)"
			break
		}
	}
	return s
}

// installs reports whether a server's own blocks bring a package.
func installs(s *inventory.Server, name string) bool {
	return slices.ContainsFunc(s.Packages, func(p *inventory.Package) bool { return p.Name == name && !p.Absent })
}

// packages are those that the server's own blocks bring.
func (x *expansion) packages(s *inventory.Server) []plan.ID {
	return slice.Map(s.Packages, func(p *inventory.Package) plan.ID { return plan.ID{Device: s.Addr, Kind: "package", Name: p.Name} })
}

// volume expands a volume and its copy, if it has one.
func (x *expansion) volume(v *inventory.Volume) {
	if v.Pool == nil {
		return
	}
	for _, half := range halves(x.model.Name, v) {
		d, ok := x.machine(half.pool.Server)
		if !ok {
			continue
		}
		want := half.volume
		want.Among = x.among(half.pool)
		want.Keep, want.Later, want.Half = half.pool.OnExistingData == "keep", installs(half.pool.Server, "lvm2"), v.Across()
		id := plan.ID{Device: d.Address(), Kind: "volume", Name: inventory.NameOnDevice(half.pool.Origin(), half.pool.Server.Origin()) + "." + half.name}
		x.stand(&v.Block, x.thing(id, storage.VolumeKind().Want(d, want), v.Range, x.stands[&half.pool.Block]...))
	}
}

// among is what is declared of the group of a pool, made once.
func (x *expansion) among(p *inventory.Pool) *storage.Room {
	if x.rooms == nil {
		x.rooms = map[*inventory.Pool]*storage.Room{}
		for _, v := range x.model.Volumes {
			if v.Pool == nil {
				continue
			}
			for _, half := range halves(x.model.Name, v) {
				r := x.rooms[half.pool]
				if r == nil {
					r = &storage.Room{Drives: half.pool.Drives, Volumes: map[string]int64{}}
					x.rooms[half.pool] = r
				}
				r.Volumes[half.volume.Name] = half.volume.Bytes
			}
		}
	}
	return x.rooms[p]
}

// A half is where a volume is kept: once, or, of a mirror, twice.
type half struct {
	pool   *inventory.Pool
	name   string
	volume *storage.Volume
}

func halves(owner string, v *inventory.Volume) []half {
	var list []half
	name := inventory.NameOnDevice(v.Origin(), v.Pool.Origin())
	for n, p := range append([]*inventory.Pool{v.Pool}, v.Mirror...) {
		if n == 1 && v.Across() {
			name = inventory.NameOnDevice(v.Origin(), p.Origin())
		}
		if n == 1 {
			name += "-mirror"
		}
		cut := storage.NewVolume(storage.GroupName(owner, inventory.NameOnDevice(p.Origin(), p.Server.Origin())), name, owner, v.Size)
		list = append(list, half{p, name, cut})
	}
	return list
}

// VolumePath is the device of a volume on a server; of a mirror on one server, of
// its first half.
func VolumePath(owner string, v *inventory.Volume, s *inventory.Server) string {
	list := halves(owner, v)
	for _, half := range list {
		if half.pool == v.On(s) {
			return half.volume.Path()
		}
	}
	return list[0].volume.Path()
}

// rests are the resources that keep a volume on a server.
func (x *expansion) rests(v *inventory.Volume, s *inventory.Server) []plan.ID {
	return slices.DeleteFunc(slices.Clone(x.stands[&v.Block]), func(id plan.ID) bool { return id.Device != s.Addr })
}

// nvmetTargets expands the targets of kernels: hosts, subsystems, then ports.
func (x *expansion) nvmetTargets() {
	hosts := map[plan.ID]bool{}
	for _, t := range x.model.Targets {
		d, ok := x.machine(t.Server)
		if t.Engine != "nvmet" || !ok {
			continue
		}
		if len(x.transports(t)) == 0 {
			x.refuse(t.At("transport"), t.Addr, fmt.Sprintf("transport = %q on a fabric that supports none of them", t.Transport))
			continue
		}
		var nqns []string
		var subsystems []plan.ID
		for _, sub := range t.Subsystems {
			nqns = append(nqns, sub.NQN)
			subsystems = append(subsystems, x.nvmetSubsystem(d, t, sub, hosts))
		}
		for _, transport := range x.transports(t) {
			for _, p := range t.Portals {
				want := nvme.NewNVMeTPort(x.model.Name, transport, p.Address, nqns)
				id := plan.ID{Device: d.Address(), Kind: "nvmet_port", Name: want.Name()}
				id = x.thing(id, nvme.NVMeTPortKind().Want(d, want), t.Range, slices.Concat(x.nics[p.RNIC], subsystems)...)
				x.stand(&t.Block, id)
				x.exports[export{t, transport, p.Address}] = id
				x.access.ports[t.Server] = append(x.access.ports[t.Server], want)
			}
		}
	}
}

// An export is a target at one of its addresses.
type export struct {
	target    *inventory.Target
	transport string
	address   netip.AddrPort
}

func (x *expansion) nvmetSubsystem(d *host.Machine, t *inventory.Target, sub *inventory.Subsystem, hosts map[plan.ID]bool) plan.ID {
	var needs []plan.ID
	for _, nqn := range sub.AllowHosts {
		id := plan.ID{Device: d.Address(), Kind: "nvmet_host", Name: nqn}
		if !hosts[id] {
			hosts[id] = true
			x.thing(id, nvme.NVMeTHostKind().Want(d, &nvme.NVMeTHost{NQN: nqn}), sub.Range)
		}
		x.stand(&t.Block, id)
		needs = append(append(needs, id), x.nvmetAuth(d, t, sub, nqn, id)...)
	}
	want := nvme.NewNVMeTSubsystem(sub.NQN, sub.Serial, sub.AllowHosts)
	for _, ns := range sub.Namespaces {
		if ns.From == nil {
			continue
		}
		if len(ns.From.Mirror) > 0 && !ns.From.Across() {
			x.refuse(ns.From.At("mirror"), ns.From.Addr, `mirror, of a volume that a target with engine = "nvmet" exports`)
		}
		want.Namespaces[ns.ID] = nvme.NewNVMeTNamespace(VolumePath(x.model.Name, ns.From, t.Server), ns.UUID)
		needs = append(needs, x.rests(ns.From, t.Server)...)
	}
	id := x.thing(plan.ID{Device: d.Address(), Kind: "nvmet_subsystem", Name: sub.NQN}, nvme.NVMeTSubsystemKind().Want(d, want), sub.Range, needs...)
	x.stand(&t.Block, id)
	x.access.subsystems = append(x.access.subsystems, exported{id, d, t, sub})
	return id
}

// transports are those that a kernel's target offers: what its fabric can
// carry, in the declared order. RDMA of iWARP is TCP, and takes its port.
func (x *expansion) transports(t *inventory.Target) []string {
	var list []string
	for _, transport := range t.Transport {
		rdma := slices.ContainsFunc(t.Portals, func(p inventory.Portal) bool {
			return p.RNIC != nil && p.RNIC.Fabric != nil && p.RNIC.Fabric.Transport != "tcp"
		})
		iwarp := slices.ContainsFunc(t.Portals, func(p inventory.Portal) bool {
			return p.RNIC != nil && p.RNIC.Fabric != nil && p.RNIC.Fabric.Transport == "iwarp"
		})
		if transport == "rdma" && !rdma || iwarp && len(list) > 0 {
			continue
		}
		list = append(list, transport)
	}
	return list
}
