package discover

import (
	"fmt"
	"slices"

	"weft/internal/hint"
	"weft/modules/host"
)

// everyday writes the blocks of a server that its ledger knows and whose kinds write
// their own, such as files and packages. What others did of that kind is left alone.
func (d *draft) everyday(b *block, n *node) {
	for _, kind := range n.System.Kinds() {
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
	for _, one := range n.told.Blocks {
		b.declare(one)
	}
}

// declare writes a block within.
func (b *block) declare(one host.DeclaredBlock) {
	var labels []string
	if one.Label != "" {
		labels = []string{one.Label}
	}
	in := b.add(one.Kind, labels...)
	for _, s := range one.Set {
		in.set(s.Name, written(s.Value))
	}
}

// written is a value of a host.Setting.
func written(v any) expr {
	switch v := v.(type) {
	case string:
		return str(v)
	case bool:
		return boolean(v)
	case int:
		return number(int64(v))
	case []string:
		return strs(v)
	case map[string]string:
		return texts(v)
	case reference:
		return raw(string(v))
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
