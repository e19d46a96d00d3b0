package discover

import (
	"fmt"
	"slices"

	"weft/internal/hint"
	"weft/modules/linux/nic"
)

// everyday writes the blocks of a server that its ledger knows and whose kinds write
// their own, such as files and packages. What others did of that kind is left alone.
func (d *draft) everyday(b *block, n *node) {
	for _, kind := range n.Kinds {
		for _, e := range n.entries(d.owner, kind.KindName()) {
			label, set, ok, err := kind.Written(e)
			if !ok {
				break
			}
			if err != nil {
				d.site.found(Error, n.Host, hint.Of(err), "%v", err)
				continue
			}
			in := b.add(e.Kind, label)
			for _, s := range set {
				in.set(s.Name, written(s.Value))
			}
		}
	}
}

// written is a value of a host.Setting.
func written(v any) expr {
	switch v := v.(type) {
	case string:
		return str(v)
	case bool:
		return boolean(v)
	case []string:
		return strs(v)
	case map[string]string:
		return texts(v)
	}
	panic(fmt.Sprintf("discover does not write a %T", v)) // a kind's literal says it
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
