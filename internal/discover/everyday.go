package discover

import (
	"slices"
	"strings"

	"weft/modules/linux/nic"
	"weft/modules/linux/put"
	"weft/modules/linux/system"
)

// everyday writes the small blocks of a server that its ledger knows: files, packages,
// modules, settings, commands and services. What others did of that kind is left alone.
func (d *draft) everyday(b *block, n *node) {
	files, _ := decoded[system.File](d, n, "file")
	for _, f := range files {
		if f.Secret {
			d.site.found(Error, n.Host, "write its file block by hand, with the secret where the former files had it", "the file %s holds a secret of the files that made it: it is not written", f.Path)
			continue
		}
		in := b.add("file", f.Path)
		in.set("content", str(string(f.Content)))
		if f.Mode != 0o644 {
			in.set("mode", str(put.Mode(f.Mode)))
		}
	}
	packages, _ := decoded[system.Package](d, n, "package")
	for _, p := range packages {
		switch in := b.add("package", p.Name); p.Installed {
		case "":
			in.set("state", str("absent"))
		case system.AnyVersion:
		default:
			in.set("version", str(p.Installed))
		}
	}
	modules, _ := decoded[system.KernelModule](d, n, "kernel_module")
	for _, m := range modules {
		in := b.add("kernel_module", m.Name)
		if len(m.Options) > 0 {
			in.set("options", texts(m.Options))
		}
	}
	settings, _ := decoded[system.Sysctl](d, n, "sysctl")
	for _, s := range settings {
		b.add("sysctl", s.Key).set("value", str(s.Value))
	}
	commands, names := decoded[system.Command](d, n, "command")
	for i, c := range commands {
		in := b.add("command", names[i])
		in.set("run", strs(c.Run))
		if c.Creates != "" {
			in.set("creates", str(c.Creates))
		} else {
			in.set("unless", strs(c.Unless))
		}
		if len(c.Undo) > 0 {
			in.set("undo", strs(c.Undo))
		}
	}
	services, _ := decoded[system.Service](d, n, "service")
	for _, s := range services {
		in := b.add("service", strings.TrimSuffix(s.Unit, ".service"))
		if !s.Enabled {
			in.set("enabled", boolean(false))
		}
		if !s.Running {
			in.set("running", boolean(false))
		}
	}
}

// texts is a map of texts.
func texts(m map[string]string) expr {
	names := make([]string, 0, len(m))
	for name := range m {
		names = append(names, name)
	}
	slices.Sort(names)
	out := raw("{ ")
	for i, name := range names {
		if i > 0 {
			out = append(out, raw(", ")...)
		}
		out = append(append(out, raw(mapKey(name)+" = ")...), str(m[name]).named(name)...)
	}
	return append(out, raw(" }")...)
}

// software are the PCI addresses of the ports of a server for which weft does RDMA in
// software.
func (d *draft) software(n *node) map[string]bool {
	is := map[string]bool{}
	links, _ := decoded[nic.RDMALink](d, n, "rdma_link")
	for _, l := range links {
		is[l.PCI] = is[l.PCI] || l.Type != ""
	}
	return is
}
