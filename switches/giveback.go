package switches

import (
	"cmp"
	"slices"
	"strings"

	"weft/internal/slice"
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
		name := c.read.OS.nameOf(object, c.read.Global)
		if name != "" && o.owns(name) && !slices.Contains(out.Names, name) {
			out.Names = append(out.Names, name)
		}
		return name
	}
	for _, b := range c.read.Global {
		if object := Object(b.Head()); o.owns(object) {
			note(object)
		}
	}
	for _, port := range c.read.PortNames() {
		for _, b := range c.read.Port[port] {
			for _, line := range b.Lines {
				if object := c.read.OS.Attached(line); o.owns(object) {
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
func (o *OS) nameOf(object string, bs []Block) string {
	for _, role := range o.Lines.Roles {
		if name, ok := strings.CutSuffix(object, role); ok {
			return name
		}
	}
	return cmp.Or(o.owner(object, "", bs), object)
}

// Relics are what a switch has kept of the time before, and of the state that
// was proven last; nil where it has kept nothing.
type Relics struct{ Base, Left *Reading }

// A Return leads a part of a switch back to what was there before weft.
type Return struct {
	Send, Undo []string
	Changes    []Line
	Kept       []string // lines that stay because an operator changed them since, or nobody knows what was there
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
	at := func(c *Reading) ([]Block, bool) {
		if c == nil || c.read == nil {
			return nil, false
		}
		bs, ok := c.read.Port[port]
		return bs, ok
	}
	have, there := at(&now)
	if !there {
		return Return{}
	}
	return now.read.OS.giveBack(have, r, at, func(object string) bool { return o.owns(object) })
}

// GiveBack removes the objects of a name and restores what stood in their
// place. Where the switch is wished to have another name next, what that puts
// in their place stays.
func GiveBack(now Reading, r Relics, name string, replaced bool) Return {
	if now.read == nil {
		return Return{}
	}
	os := now.read.OS
	mine := func(object string) bool { return os.ours(object, name) }
	var shared, objects []Block
	for _, b := range now.read.Global {
		switch object := Object(b.Head()); {
		case object == "":
			shared = append(shared, b)
		case os.owner(object, name, now.read.Global) == name:
			objects = append(objects, b)
		}
	}
	if replaced {
		shared = nil
	}
	out := now.read.OS.giveBack(shared, r, func(c *Reading) ([]Block, bool) {
		if c == nil || c.read == nil {
			return nil, false
		}
		return slices.DeleteFunc(slices.Clone(c.read.Global), func(b Block) bool { return Object(b.Head()) != "" }), true
	}, mine)
	target := changed(shared, out.Changes)
	g := now.read.OS.Lines.Grammar
	out.Send = g.diff(slices.Concat(objects, shared), target)
	out.Undo = g.diff(target, slices.Concat(objects, shared))
	for _, b := range objects {
		if len(b.Path) == 1 {
			out.Changes = append(out.Changes, Line{Key: b.Head(), Before: "there"})
		}
	}
	return out
}

// giveBack compares three states of the same places, line by line: what is
// there now, what was proven last, and what was there before.
func (o *OS) giveBack(now []Block, r Relics, at func(*Reading) ([]Block, bool), mine func(string) bool) (out Return) {
	g := o.Lines.Grammar
	base, hasBase := at(r.Base)
	left, hasLeft := at(r.Left)
	for _, b := range now {
		was, _ := FindBlock(base, b.Path...)
		proven, _ := FindBlock(left, b.Path...)
		place := strings.Join(b.Path, " / ")
		for _, key := range keys(g, b, was) {
			n, b4, then := keyed(g, b, key), keyed(g, was, key), keyed(g, proven, key)
			switch object := o.Attached(n); {
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
func changed(bs []Block, changes []Line) []Block {
	out := make([]Block, len(bs))
	for i, b := range bs {
		out[i] = b.Clone()
		for _, c := range changes {
			if c.Place != strings.Join(b.Path, " / ") {
				continue
			}
			at := slices.Index(out[i].Lines, c.Before)
			switch {
			case at >= 0 && c.After != "":
				out[i].Lines[at] = c.After
			case at >= 0:
				out[i].Lines = slices.Delete(out[i].Lines, at, at+1)
			case c.After != "":
				out[i].Lines = append(out[i].Lines, c.After)
			}
		}
	}
	return out
}

// keys lists the keys of the lines of two blocks.
func keys(g Grammar, a, b Block) (out []string) {
	for _, line := range slices.Concat(a.Lines, b.Lines) {
		if k := g.Key(line); !slices.Contains(out, k) {
			out = append(out, k)
		}
	}
	return out
}

// keyed is the line of a block with that key, or "".
func keyed(g Grammar, b Block, key string) string {
	i := slices.IndexFunc(b.Lines, func(l string) bool { return g.Key(l) == key })
	if i < 0 {
		return ""
	}
	return b.Lines[i]
}

// Nameless says which frame lengths ports have that no wish names, that were not
// there before weft's first line, and that were there when its last was proven:
// weft may have written them, or another owner. Where a port carries nothing of
// the owner's name and is not among those that marks tell of, nobody knows.
func Nameless(now Reading, r Relics, want Intent, told []string) (out []string) {
	if r.Base == nil || r.Left == nil {
		return nil
	}
	o := now.read.OS.Lines
	g, owned := o.Grammar, now.Owned(want.Owner).Ports
	for _, port := range now.read.PortNames() {
		if _, wished := want.Port(port); wished || owned[port] != "" || slices.Contains(told, port) {
			continue
		}
		for _, b := range now.read.Port[port] {
			was, _ := FindBlock(r.Base.read.Port[port], b.Path...)
			proven, _ := FindBlock(r.Left.read.Port[port], b.Path...)
			for _, line := range b.Lines {
				key := g.Key(line)
				if o.Unowned(line) && line != keyed(g, was, key) && line == keyed(g, proven, key) {
					off := g.diff([]Block{b}, changed([]Block{b}, []Line{{strings.Join(b.Path, " / "), key, line, keyed(g, was, key)}}))
					out = append(out, port+" has "+line+", which came since weft's first change (before: "+orNone(keyed(g, was, key))+
						"), and no link names the port. It stays: no mark tells that weft wrote it. Where it did, type "+strings.Join(trimmed(off), "; "))
				}
			}
		}
	}
	return out
}

func trimmed(lines []string) (out []string) {
	return slice.Map(lines, strings.TrimSpace)
}

// LineAt is the line with a key that stands on a port, or, of port "", below the
// headers of a place; "" where there is none. There reports that the key is that of
// an object, and the object is there.
func LineAt(c Reading, port, place, key string) (line string, there bool) {
	if c.read == nil {
		return "", false
	}
	bs := c.read.Global
	if port != "" {
		bs = c.read.Port[port]
	}
	g := c.read.OS.Lines.Grammar
	for _, b := range bs {
		at := strings.Join(b.Path, " / ")
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

// Changed reports whether an operator changed, since an owner's settings were proven,
// those of a port, or, of port "", its objects and what it attaches to the system.
func Changed(now, proven Reading, o Owner, port string) bool {
	if now.read == nil || proven.read == nil {
		return true
	}
	pick := func(c Reading) (out []string) {
		bs := c.read.Port[port]
		if port == "" {
			bs = slices.DeleteFunc(slices.Clone(c.read.Global), func(b Block) bool {
				object := Object(b.Head())
				return object != "" && !o.owns(object)
			})
		}
		for _, b := range bs {
			place := strings.Join(b.Path, " / ")
			for _, line := range append([]string{""}, b.Lines...) {
				if object := now.read.OS.Attached(line); object == "" || o.owns(object) || port != "" {
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
	g := now.read.OS.Lines.Grammar
	pick := func(c Reading) (out []Block) {
		for _, b := range c.read.Global {
			if object := Object(b.Head()); object == "" || o.owns(object) {
				out = append(out, b)
			}
		}
		for _, p := range ports {
			out = append(out, c.read.Port[p]...)
		}
		return out
	}
	return g.diff(pick(now), pick(before))
}
