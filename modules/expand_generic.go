package modules

import (
	"io/fs"

	"weft/inventory"
	"weft/plan"
)

// generic expands the small blocks in a server, each after the one before it:
// packages bring modules, units and keys along.
func (x *expansion) generic(d *server, s *inventory.Server) {
	var before []plan.ID
	add := func(kind, name string, r plan.Resource, b *inventory.Block) {
		before = []plan.ID{x.add(plan.ID{Device: s.Addr, Kind: kind, Name: name}, r, b.Range, before...)}
	}
	for _, p := range s.Packages {
		add("package", p.Name, PackageKind().Want(d, newPackage(p.Name, p.Version, p.Absent)), &p.Block)
	}
	for _, f := range s.FileBlocks {
		add("file", f.Path, FileKind().Want(d, &File{Path: f.Path, Mode: fs.FileMode(f.Mode), Content: []byte(f.Content), Secret: f.Secret}), &f.Block)
	}
	for _, m := range s.KernelModules {
		add("kernel_module", m.Name, KernelModuleKind().Want(d, newKernelModule(m.Name, m.Options)), &m.Block)
	}
	for _, c := range s.Sysctls {
		w := newSysctl(c.Key, c.Value)
		w.Later = len(s.Packages)+len(s.KernelModules) > 0
		add("sysctl", c.Key, SysctlKind().Want(d, w), &c.Block)
	}
	for _, c := range s.Commands {
		add("command", c.Name, CommandKind().Want(d, &Command{Run: c.Run, Creates: c.Creates, Unless: c.Unless, Undo: c.Undo, Done: true}), &c.Block)
	}
	for _, u := range s.Services {
		w := newService(u.Name, u.Enabled, u.Running)
		w.Later = len(s.Packages)+len(s.FileBlocks)+len(s.Commands) > 0
		add("service", w.Unit, ServiceKind().Want(d, w), &u.Block)
	}
}
