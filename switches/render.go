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
		foreign = o.inTheWay(have.read.Global, want.Intent)
	}
	for _, port := range portNames(have, want) {
		a, b, err := o.ports(h, w, port, name)
		if err != nil {
			return nil, err
		}
		if p, wished := want.Port(port); wished && !want.observedPort(p) && have.read != nil {
			foreign = append(foreign, o.claimed(a, b, want.Intent)...)
		}
		from, to = append(from, a...), append(to, b...)
	}
	if len(foreign) > 0 && !want.Adopt {
		return nil, &ForeignError{Lines: foreign}
	}
	var first []string
	if o.Lines.Detach != nil {
		first, from = o.Lines.Detach(from, to)
	}
	return append(first, o.Lines.Grammar.diff(from, to)...), nil
}

// A side is one of the two configurations that are compared.
type side struct {
	state
	os    *OS
	seen  *Text // what either side has read
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
func (s side) globals(name string) ([]Block, error) {
	if s.observed() {
		var out []Block
		for _, b := range s.read.Global {
			if object := Object(b.Head()); object != "" && name != "" && s.os.owner(object, name, s.read.Global) != name {
				continue
			}
			b = b.Clone()
			b.Lines = slices.DeleteFunc(b.Lines, func(l string) bool {
				n := s.os.Attached(l)
				return n != "" && name != "" && !s.os.ours(n, name) && !s.keeps(n)
			})
			out = append(out, b)
		}
		return out, nil
	}
	if err := checkClasses(s.Intent); err != nil {
		return nil, err
	}
	out, err := s.os.Lines.Global(s.Intent, s.facts())
	if err != nil || s.seen == nil {
		return out, err
	}
	return keepSystem(s.seen.Global, s.os.Lines.Settle(s.seen, 0, s.seen.Global, out), s.os.Lines.Grammar.Key), nil
}

// keepSystem adds to what is wished the lines of the system that nobody wishes
// anything of.
func keepSystem(seen, wish []Block, key func(string) string) []Block {
	s, _ := FindBlock(seen)
	if len(s.Lines) == 0 {
		return wish
	}
	i := slices.IndexFunc(wish, func(b Block) bool { return len(b.Path) == 0 })
	if i < 0 {
		return append(wish, s)
	}
	w := wish[i].Clone()
	for _, line := range s.Lines {
		if !slices.ContainsFunc(w.Lines, func(l string) bool { return key(l) == key(line) }) {
			w.Lines = append(w.Lines, line)
		}
	}
	wish[i] = w
	return wish
}

// keeps reports whether what attaches an object is ours to replace, and to put
// back.
func (s side) keeps(object string) bool { return s.other.Adopt || s.os.Mine(s.other.Intent, object) }

// Object returns the name that weft gave to the object a header opens, "" if
// the header opens no named object.
func Object(header string) string {
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
func (o *OS) ports(h, w side, port, name string) (from, to []Block, err error) {
	hp, inHave := h.Port(port)
	wp, inWant := w.Port(port)
	if s := h.read; s != nil && inWant && !w.observedPort(wp) {
		if _, ok := s.Port[port]; !ok {
			return nil, nil, fmt.Errorf("the switch has no port %s", port)
		}
	}
	if inHave {
		from, err = h.portBlocks(hp)
	}
	if err == nil && inWant {
		to, err = w.portBlocks(wp)
	}
	switch {
	case err != nil:
		return nil, nil, err
	case inHave && !inWant && h.read != nil:
		// Nobody wishes anything of the port: only what carries our name goes.
		return from, o.without(from, name), nil
	case inWant && !inHave && w.read != nil:
		return o.without(to, name), to, nil
	}
	return from, to, nil
}

func (s side) portBlocks(p Port) ([]Block, error) {
	if s.observedPort(p) {
		return s.read.Port[p.Name], nil
	}
	p, err := s.os.taken(s.seen, p)
	if err != nil {
		return nil, err
	}
	wish := s.os.Lines.Port(s.Intent, p, s.facts())
	if s.seen == nil {
		return wish, nil
	}
	return s.os.Lines.Settle(s.seen, s.seen.ports[p.Name].Frame, s.seen.Port[p.Name], wish), nil
}

// without leaves out the lines that attach objects of the prefix name.
func (o *OS) without(bs []Block, name string) (out []Block) {
	for _, b := range bs {
		b = b.Clone()
		b.Lines = slices.DeleteFunc(b.Lines, func(l string) bool { return o.ours(o.Attached(l), name) })
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
func (o *OS) inTheWay(bs []Block, want Intent) (out []string) {
	for _, b := range bs {
		for _, line := range b.Lines {
			if n := o.Attached(line); n != "" && !o.Mine(want, n) && o.needs(want, line) {
				out = append(out, b.Head()+": "+line)
			}
		}
	}
	return out
}

// claimed lists what another owner wants of a port: attachments of others,
// and, where the port carries nothing of ours, every line that ours would
// replace or take off.
func (o *OS) claimed(seen, wish []Block, want Intent) []string {
	out := o.inTheWay(seen, want)
	if o.Carries(seen, want) || len(out) > 0 {
		return out
	}
	for _, b := range seen {
		w, _ := FindBlock(wish, b.Path...)
		for _, line := range b.Lines {
			if !slices.Contains(w.Lines, line) && !o.Lines.Unowned(line) {
				out = append(out, b.Head()+": "+line)
			}
		}
	}
	return out
}
