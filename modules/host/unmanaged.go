package host

import (
	"slices"
	"strings"

	"weft/internal/remote"
	"weft/plan"
)

// An object is one thing on a server, as people know it.
type Object struct{ Kind, Name string }

// unmanaged names what was seen and is foreign, or of another owner, by kind: it took
// no look of its own.
func unmanaged(rs []plan.Resource, seen remote.Seen, others map[string]string) map[string][]string {
	all, mine := map[Object]bool{}, map[Object]bool{}
	looked, kinds := map[string]bool{}, map[string]bool{}
	for _, r := range rs {
		n, ok := r.(Thing)
		if !ok {
			continue
		}
		its, seen := n.objects(seen, looked)
		for _, o := range its {
			mine[o], kinds[o.Kind] = true, true
		}
		for _, o := range seen {
			all[o] = true
		}
	}
	var out map[string][]string
	add := func(kind, name string) {
		if out == nil {
			out = map[string][]string{}
		}
		out[kind] = append(out[kind], name)
	}
	for o := range all {
		if !mine[o] {
			add(o.Kind, o.Name)
		}
	}
	for key, owner := range others {
		if kind, _, _ := strings.Cut(key, "."); !kinds[kind] { // else it was counted where it was seen
			add("of the owner "+owner, key)
		}
	}
	for _, names := range out {
		slices.Sort(names)
	}
	return out
}

// Unmanaged implements plan.Onlooker.
func (d *Machine) Unmanaged() map[string][]string { return d.foreign }
