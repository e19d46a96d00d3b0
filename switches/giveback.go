package switches

import (
	"cmp"
	"slices"
	"strings"
)

// Owned is what carries an owner's name on a switch.
type Owned struct {
	Names []string          // prefixes of its objects: WEFT-<owner>-<fabric>
	Ports map[string]string // the name that a port carries, by port
}

// Owned lists what carries the owner's name.
func (c Reading) Owned(o Owner) Owned {
	out := Owned{Ports: map[string]string{}}
	if c.read == nil {
		return out
	}
	note := func(object string) string {
		name := nameOf(object, c.read.global)
		if name != "" && o.owns(name) && !slices.Contains(out.Names, name) {
			out.Names = append(out.Names, name)
		}
		return name
	}
	for _, b := range c.read.global {
		if object := objectOf(b.head()); o.owns(object) {
			note(object)
		}
	}
	for _, port := range sortedPorts(c.read) {
		for _, b := range c.read.port[port] {
			for _, line := range b.lines {
				if object := c.read.os.attachment(line); o.owns(object) {
					out.Ports[port] = note(object)
				}
			}
		}
	}
	slices.Sort(out.Names)
	return out
}

// nameOf is the prefix that an object belongs to: that of a policy without its
// role, of a class-map that of the policies around it.
func nameOf(object string, bs []block) string {
	for _, role := range roles() {
		if name, ok := strings.CutSuffix(object, role); ok {
			return name
		}
	}
	return cmp.Or(owner(object, "", bs), object)
}

// Relics are what a switch has kept of the time before, and of the state that
// was proven last; nil where it has kept nothing.
type Relics struct{ Base, Left *Reading }

// A Return leads a part of a switch back to what was there before weft.
type Return struct {
	Send, Undo []string
	Changes    []Line
	Kept       []string // lines that stay because somebody changed them since, or nobody knows what was there
}

// A Line is one place of a configuration that changes.
type Line struct {
	Place  string // the headers that lead to it
	Key    string // what the line is about, apart from its values
	Before string // "" is no line
	After  string
}

// GiveBackPort takes what is ours off a port and restores what was there
// before.
func GiveBackPort(now Reading, r Relics, o Owner, port string) Return {
	at := func(c *Reading) ([]block, bool) {
		if c == nil || c.read == nil {
			return nil, false
		}
		bs, ok := c.read.port[port]
		return bs, ok
	}
	have, there := at(&now)
	if !there {
		return Return{}
	}
	return now.read.os.giveBack(have, r, at, func(object string) bool { return o.owns(object) })
}

// GiveBack removes the objects of a name and restores what stood in their
// place. Where the switch is wished to have another name next, what that puts
// in their place stays.
func GiveBack(now Reading, r Relics, name string, replaced bool) Return {
	mine := func(object string) bool { return ours(object, name) }
	if now.read == nil {
		return Return{}
	}
	var shared, objects []block
	for _, b := range now.read.global {
		switch object := objectOf(b.head()); {
		case object == "":
			shared = append(shared, b)
		case owner(object, name, now.read.global) == name:
			objects = append(objects, b)
		}
	}
	if replaced {
		shared = nil
	}
	out := now.read.os.giveBack(shared, r, func(c *Reading) ([]block, bool) {
		if c == nil || c.read == nil {
			return nil, false
		}
		return slices.DeleteFunc(slices.Clone(c.read.global), func(b block) bool { return objectOf(b.head()) != "" }), true
	}, mine)
	target := changed(shared, out.Changes)
	g := now.read.os.lines.grammar
	out.Send = g.diff(slices.Concat(objects, shared), target)
	out.Undo = g.diff(target, slices.Concat(objects, shared))
	for _, b := range objects {
		if len(b.path) == 1 {
			out.Changes = append(out.Changes, Line{Key: b.head(), Before: "there"})
		}
	}
	return out
}

// giveBack compares three states of the same places, line by line: what is
// there now, what was proven last, and what was there before.
func (o *OS) giveBack(now []block, r Relics, at func(*Reading) ([]block, bool), mine func(string) bool) (out Return) {
	g := o.lines.grammar
	base, hasBase := at(r.Base)
	left, hasLeft := at(r.Left)
	for _, b := range now {
		was, _ := findBlock(base, b.path...)
		proven, _ := findBlock(left, b.path...)
		place := strings.Join(b.path, " / ")
		for _, key := range keys(g, b, was) {
			n, b4, then := keyed(g, b, key), keyed(g, was, key), keyed(g, proven, key)
			switch object := o.attachment(n); {
			case n == b4:
			case n != "" && mine(object):
				out.Changes = append(out.Changes, Line{place, key, n, b4})
			case !hasBase && object == "":
				out.Kept = append(out.Kept, place+": "+n+" (what was there before is not known)")
			case hasBase && hasLeft && n == then:
				out.Changes = append(out.Changes, Line{place, key, n, b4})
			case hasBase && object == "":
				out.Kept = append(out.Kept, place+": "+n+" (changed since; before weft: "+orNone(b4)+")")
			}
		}
	}
	target := changed(now, out.Changes)
	out.Send, out.Undo = g.diff(now, target), g.diff(target, now)
	return out
}

func orNone(line string) string {
	if line == "" {
		return "no such line"
	}
	return line
}

// changed makes the changes in a copy of the blocks.
func changed(bs []block, changes []Line) []block {
	out := make([]block, len(bs))
	for i, b := range bs {
		out[i] = b.clone()
		for _, c := range changes {
			if c.Place != strings.Join(b.path, " / ") {
				continue
			}
			at := slices.Index(out[i].lines, c.Before)
			switch {
			case at >= 0 && c.After != "":
				out[i].lines[at] = c.After
			case at >= 0:
				out[i].lines = slices.Delete(out[i].lines, at, at+1)
			case c.After != "":
				out[i].lines = append(out[i].lines, c.After)
			}
		}
	}
	return out
}

// keys lists the keys of the lines of two blocks.
func keys(g grammar, a, b block) (out []string) {
	for _, line := range slices.Concat(a.lines, b.lines) {
		if k := g.key(line); !slices.Contains(out, k) {
			out = append(out, k)
		}
	}
	return out
}

// keyed is the line of a block with that key, or "".
func keyed(g grammar, b block, key string) string {
	i := slices.IndexFunc(b.lines, func(l string) bool { return g.key(l) == key })
	if i < 0 {
		return ""
	}
	return b.lines[i]
}

// Nameless says which frame lengths ports have that no wish names, that were not
// there before weft's first line, and that were there when its last was proven:
// weft may have written them, or somebody else. Where a port carries nothing of
// the owner's name, nobody knows.
func Nameless(now Reading, r Relics, want Intent) (out []string) {
	if r.Base == nil || r.Left == nil {
		return nil
	}
	o := now.read.os.lines
	g, owned := o.grammar, now.Owned(want.Owner).Ports
	for _, port := range sortedPorts(now.read) {
		if _, wished := want.port(port); wished || owned[port] != "" {
			continue
		}
		for _, b := range now.read.port[port] {
			was, _ := findBlock(r.Base.read.port[port], b.path...)
			proven, _ := findBlock(r.Left.read.port[port], b.path...)
			for _, line := range b.lines {
				key := g.key(line)
				if o.unowned(line) && line != keyed(g, was, key) && line == keyed(g, proven, key) {
					out = append(out, port+" has "+line+", which came since weft's first change (before: "+orNone(keyed(g, was, key))+
						"), and no link names the port: where weft wrote it, take it off by hand; nothing else tells whose it is")
				}
			}
		}
	}
	return out
}

// LineAt is the line with a key that stands on a port, or, of port "", below the
// headers of a place; "" where there is none. There reports that the key is that of
// an object, and the object is there.
func LineAt(c Reading, port, place, key string) (line string, there bool) {
	if c.read == nil {
		return "", false
	}
	bs := c.read.global
	if port != "" {
		bs = c.read.port[port]
	}
	g := c.read.os.lines.grammar
	for _, b := range bs {
		at := strings.Join(b.path, " / ")
		if port == "" && place == "" && at == key {
			return "", true
		}
		if port != "" || at == place {
			if line := keyed(g, b, key); line != "" {
				return line, false
			}
		}
	}
	return "", false
}

// Changed reports whether somebody changed, since an owner's settings were proven,
// those of a port, or, of port "", its objects and what it attaches to the system.
func Changed(now, proven Reading, o Owner, port string) bool {
	if now.read == nil || proven.read == nil {
		return true
	}
	pick := func(c Reading) (out []string) {
		bs := c.read.port[port]
		if port == "" {
			bs = slices.DeleteFunc(slices.Clone(c.read.global), func(b block) bool {
				object := objectOf(b.head())
				return object != "" && !o.owns(object)
			})
		}
		for _, b := range bs {
			place := strings.Join(b.path, " / ")
			for _, line := range append([]string{""}, b.lines...) {
				if object := now.read.os.attachment(line); object == "" || o.owns(object) || port != "" {
					out = append(out, place+": "+line)
				}
			}
		}
		slices.Sort(out)
		return out
	}
	return !slices.Equal(pick(now), pick(proven))
}

// Back lists the lines that lead from what a switch reads now to what it read
// before, as far as an owner had to do with it: its objects, what is attached
// to the system, and the ports that are named.
func Back(now, before Reading, o Owner, ports []string) []string {
	if now.read == nil || before.read == nil {
		return nil
	}
	g := now.read.os.lines.grammar
	pick := func(c Reading) (out []block) {
		for _, b := range c.read.global {
			if object := objectOf(b.head()); object == "" || o.owns(object) {
				out = append(out, b)
			}
		}
		for _, p := range ports {
			out = append(out, c.read.port[p]...)
		}
		return out
	}
	return g.diff(pick(now), pick(before))
}
