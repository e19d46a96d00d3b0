package switches

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"weft/internal/owned"
)

// render lists the lines that lead from have to want, in the order in which the
// switch takes them; none if nothing need change. An error says what cannot be
// expressed on this OS, or is a *ForeignError. render(have, want) followed by
// render(want, have) restores what was there.
func (o *OS) render(have, want state) ([]string, error) {
	seen := have.read
	if seen == nil {
		seen = want.read
	}
	h := side{state: have, os: o, seen: seen, other: want}
	w := side{state: want, os: o, seen: seen, other: have}
	if !want.observed() && want.Name == "" && len(want.Ports) == 0 {
		return nil, nil // a wish for nothing, under no name, is about nothing
	}
	name := cmp.Or(want.Name, have.Name)
	scope := cmp.Or(w.prefix(), h.prefix())
	from, err := h.globals(scope)
	if err != nil {
		return nil, err
	}
	to, err := w.globals(scope)
	if err != nil {
		return nil, err
	}
	var foreign []string
	if have.observed() && !want.observed() && len(want.Classes) > 0 {
		foreign = o.inTheWay(have.read.global, want.Intent)
	}
	for _, port := range portNames(have, want) {
		a, b, err := o.ports(h, w, port, name)
		if err != nil {
			return nil, err
		}
		if p, wished := want.port(port); wished && !want.observedPort(p) && have.read != nil {
			foreign = append(foreign, o.claimed(a, b, want.Intent)...)
		}
		from, to = append(from, a...), append(to, b...)
	}
	if len(foreign) > 0 && !want.Adopt {
		return nil, &ForeignError{Lines: foreign}
	}
	var first []string
	if o.lines.detach != nil {
		first, from = o.lines.detach(from, to)
	}
	return append(first, o.lines.grammar.diff(from, to)...), nil
}

// A side is one of the two configurations that are compared.
type side struct {
	state
	os    *OS
	seen  *reading // what either side has read
	other state
}

func (s side) facts() Facts {
	if s.seen != nil {
		return s.seen.facts
	}
	return s.Facts
}

// prefix is the name of the wished objects, "" if nothing is wished.
func (s side) prefix() string {
	if s.observed() {
		return ""
	}
	return s.Name
}

// globals are the blocks of s that are no port's. Of what was read, objects
// that are not of the prefix name, and where they are attached, are none of
// our business; name "" is all.
func (s side) globals(name string) ([]block, error) {
	if s.observed() {
		var out []block
		for _, b := range s.read.global {
			if object := objectOf(b.head()); object != "" && name != "" && owner(object, name, s.read.global) != name {
				continue
			}
			b = b.clone()
			b.lines = slices.DeleteFunc(b.lines, func(l string) bool {
				n := s.os.attachment(l)
				return n != "" && name != "" && !ours(n, name) && !s.keeps(n)
			})
			out = append(out, b)
		}
		return out, nil
	}
	if err := checkClasses(s.Intent); err != nil {
		return nil, err
	}
	out, err := s.os.lines.global(s.Intent, s.facts())
	if err != nil || s.seen == nil {
		return out, err
	}
	return s.os.lines.settle(s.seen, 0, s.seen.global, out), nil
}

// keepSystem adds to what is wished the lines of the system that nobody wishes
// anything of.
func keepSystem(seen, wish []block, key func(string) string) []block {
	s, _ := findBlock(seen)
	if len(s.lines) == 0 {
		return wish
	}
	i := slices.IndexFunc(wish, func(b block) bool { return len(b.path) == 0 })
	if i < 0 {
		return append(wish, s)
	}
	w := wish[i].clone()
	for _, line := range s.lines {
		if !slices.ContainsFunc(w.lines, func(l string) bool { return key(l) == key(line) }) {
			w.lines = append(w.lines, line)
		}
	}
	wish[i] = w
	return wish
}

// keeps reports whether what attaches an object is ours to replace, and to put
// back.
func (s side) keeps(object string) bool { return s.other.Adopt || s.other.mine(object) }

// objectOf returns the name that weft gave to the object a header opens, "" if
// the header opens no named object.
func objectOf(header string) string {
	name := header[strings.LastIndexByte(header, ' ')+1:]
	if strings.HasPrefix(name, objectPrefix) {
		return name
	}
	return ""
}

const objectPrefix = owned.Objects

// ObjectName is what the names of all objects of an owner's fabric begin with; that
// of fabric "" is what all of the owner's begin with.
func ObjectName(owner, fabric string) string { return owned.Object(owner, fabric) }

// Weft reports whether a line names an object of weft's, whosever it is.
func Weft(line string) bool { return strings.Contains(line, " "+objectPrefix) }

// ports returns the blocks of one port on both sides.
func (o *OS) ports(h, w side, port, name string) (from, to []block, err error) {
	hp, inHave := h.port(port)
	wp, inWant := w.port(port)
	if s := h.read; s != nil && inWant && !w.observedPort(wp) {
		if _, ok := s.port[port]; !ok {
			return nil, nil, fmt.Errorf("the switch has no port %s", port)
		}
	}
	switch {
	case inHave && inWant:
		return h.portBlocks(hp), w.portBlocks(wp), nil
	case inHave && h.read != nil:
		// Nobody wishes anything of the port: only what carries our name goes.
		from = h.portBlocks(hp)
		return from, o.without(from, name), nil
	case inWant && w.read != nil:
		to = w.portBlocks(wp)
		return o.without(to, name), to, nil
	case inHave:
		return h.portBlocks(hp), nil, nil
	default:
		return nil, w.portBlocks(wp), nil
	}
}

func (s side) portBlocks(p Port) []block {
	if s.observedPort(p) {
		return s.read.port[p.Name]
	}
	wish := s.os.lines.port(s.Intent, p, s.facts())
	if s.seen == nil {
		return wish
	}
	return s.os.lines.settle(s.seen, s.seen.ports[p.Name].Frame, s.seen.port[p.Name], wish)
}

// without leaves out the lines that attach objects of the prefix name.
func (o *OS) without(bs []block, name string) (out []block) {
	for _, b := range bs {
		b = b.clone()
		b.lines = slices.DeleteFunc(b.lines, func(l string) bool { return ours(o.attachment(l), name) })
		out = append(out, b)
	}
	return out
}

func portNames(have, want state) (out []string) {
	for _, p := range slices.Concat(want.Ports, have.Ports) {
		if !slices.Contains(out, p.Name) {
			out = append(out, p.Name)
		}
	}
	return out
}

// inTheWay lists attachments of objects that are not of who wishes want.
func (o *OS) inTheWay(bs []block, want Intent) (out []string) {
	for _, b := range bs {
		for _, line := range b.lines {
			if n := o.attachment(line); n != "" && !want.mine(n) && o.needs(want, line) {
				out = append(out, b.head()+": "+line)
			}
		}
	}
	return out
}

// claimed lists what somebody else wants of a port: attachments of others,
// and, where the port carries nothing of ours, every line that ours would
// replace or take off.
func (o *OS) claimed(seen, wish []block, want Intent) []string {
	out := o.inTheWay(seen, want)
	if o.carries(seen, want) || len(out) > 0 {
		return out
	}
	for _, b := range seen {
		w, _ := findBlock(wish, b.path...)
		for _, line := range b.lines {
			if !slices.Contains(w.lines, line) && !o.lines.unowned(line) {
				out = append(out, b.head()+": "+line)
			}
		}
	}
	return out
}
