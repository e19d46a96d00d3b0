package language

import (
	"slices"

	"github.com/hashicorp/hcl/v2"
)

// A reach is how far the expression at a place goes, by itself or through a
// local or an input of a module.
type reach uint8

const (
	inside reach = iota // the inventory is all it needs
	toText              // it reads files, whose text a plan file holds
	toHere              // it reads the machine that evaluates it
)

// reach finds out how far the expression at a place goes.
func (w *writings) reach(at place) reach {
	if found, known := w.reaches[at]; known {
		return found
	}
	w.reaches[at] = inside // one that needs itself is refused where it is loaded
	x := w.at[at]
	if x == nil {
		return inside
	}
	found := inside
	for _, c := range x.calls {
		found = max(found, toText)
		if c.Here || c.Function == "templatefile" && w.reading {
			found = toHere
		}
	}
	for _, t := range x.looks {
		root := t.RootName()
		if w.sensitive[w.looked(at, t)] {
			found = toHere
		}
		if root != "local" && root != "var" {
			continue
		}
		for _, next := range w.behind(at, t) {
			found = max(found, w.reach(next))
		}
	}
	w.reaches[at] = found
	return found
}

// looked is what the first two steps of a traversal name.
func (w *writings) looked(at place, t hcl.Traversal) place {
	name, _ := secondName(t)
	return place{at.dir, t.RootName() + "." + name}
}

// needs lists everything that decides what the expression at a place becomes,
// directly or not, in a fixed order.
func (w *writings) needs(at place) []place {
	var list []place
	seen := map[place]bool{at: true}
	var walk func(place)
	walk = func(from place) {
		x := w.at[from]
		if x == nil {
			return
		}
		for _, t := range x.looks {
			for _, next := range w.behind(from, t) {
				if !seen[next] {
					seen[next] = true
					list = append(list, next)
					walk(next)
				}
			}
		}
	}
	walk(at)
	return list
}

// behind lists what a name in the expression at a place stands for. Where that
// is a block it is all that stands in there; where it is each, count or a name
// of a dynamic block, it is what the blocks around it repeat.
func (w *writings) behind(at place, t hcl.Traversal) []place {
	to, x := w.looked(at, t), w.at[at]
	list := slices.Clone(x.turns)
	switch root := t.RootName(); {
	case root == "local", root == "var" && at.dir == ".":
		return append(list, to)
	case root == "var":
		list = append(list, place{to.dir, to.path + ".default"})
		name, _ := secondName(t)
		for _, call := range w.modules[at.dir] {
			list = append(list, place{call.dir, call.path + "." + name})
		}
		return list
	case root == "module":
		for dir, calls := range w.modules {
			if slices.Contains(calls, to) {
				list = append(list, w.inDirectory(dir)...)
			}
		}
		return append(list, w.blocks[to]...)
	case root == "target" || root == "initiator": // who connects decides what their attributes are
		return append(list, w.order...)
	case w.blocks[to] != nil: // names are derived from the owner's
		return append(append(list, place{".", "weft.name"}), w.blocks[to]...)
	}
	return x.around
}

// inDirectory lists all that stands in the files of a directory.
func (w *writings) inDirectory(dir string) []place {
	return slices.DeleteFunc(slices.Clone(w.order), func(at place) bool { return at.dir != dir })
}
