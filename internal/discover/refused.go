package discover

import (
	"fmt"
	"slices"
	"strings"
)

// A Problem is why validate refuses files.
type Problem struct {
	File string // as Judge was given it; "": no place is known
	Line int
	Text string
}

func (p Problem) String() string {
	if p.File == "" {
		return p.Text
	}
	return fmt.Sprintf("%s:%d: %s", p.File, p.Line, p.Text)
}

// listed are problems for people.
func listed(list []Problem) []string {
	var out []string
	for _, p := range list {
		out = append(out, p.String())
	}
	return out
}

// A source is what a line of a file was written from: the path of a block or an attribute, and
// the instances that share the line.
type source struct {
	path []string // server "node", rnic "p0", address
	of   []instance
}

// A refusal is what is left out of the files because validate refuses it.
type refusal struct {
	path string
	key  string // address of the instance; "": all of the block
}

// mostRefused bounds how many things are left out, one after another.
const mostRefused = 300

// refuse leaves one block out of the files: the one that the first problem with a known place
// is about, so that no single object stops all others. It reports whether there was such a
// problem. Blocks that refer to the one left out are refused in a later round.
func (d *draft) refuse(problems []Problem) bool {
	for _, p := range problems {
		from, ok := d.sources[p.File][p.Line]
		if !ok || len(d.refused) >= mostRefused {
			continue
		}
		path, culprits := from.object(), from.culprits(p.Text)
		if len(path) == 0 {
			continue
		}
		if len(path) == 1 && d.unfabric(path[0]) {
			d.site.found(Error, "", "correct it on the switches and discover again, or write it by hand", "%s is not written, and nothing is in it: validate refuses it: %s", path[0], p.Text)
			return true
		}
		if d.refused == nil {
			d.refused = map[refusal]string{}
		}
		name := strings.Join(path, ", ")
		if culprits != nil {
			path, name = path[:1], strings.Join(culprits, ", ")
		}
		at := strings.Join(path, "/")
		if culprits == nil {
			d.refused[refusal{at, ""}] = name
		}
		for _, key := range culprits {
			d.refused[refusal{at, key}] = key
		}
		d.site.found(Error, "", "correct it on its device and discover again, or write it by hand", "%s is not written: validate refuses it: %s", name, p.Text)
		return true
	}
	return false
}

// unfabric takes a fabric out, which is then that of no switch and of no NIC.
func (d *draft) unfabric(name string) bool {
	i := slices.IndexFunc(d.fabrics, func(f *fabric) bool { return !f.declared && name == "fabric "+quoted(f.name) })
	if i < 0 {
		return false
	}
	gone := d.fabrics[i]
	d.fabrics = slices.Delete(d.fabrics, i, i+1)
	for _, l := range d.leaves {
		if l.fabric == gone {
			l.fabric, l.plane = nil, ""
		}
	}
	for _, n := range d.nodes {
		for _, c := range n.cards {
			if c.fabric == gone {
				c.fabric = nil
			}
		}
	}
	return true
}

// object is the smallest part of a path that can be left out without giving what is left
// another meaning: the block that an attribute is in, or an attribute that only describes.
func (s source) object() []string {
	last := s.path[len(s.path)-1]
	attribute := strings.HasSuffix(last, "=")
	if !attribute || len(s.path) == 2 && (last == "serial=" || last == "labels=") {
		return s.path
	}
	return s.path[:len(s.path)-1]
}

// culprits are the instances that a problem names by their address, or else by a value that only
// they have; nil: it is about all of them.
func (s source) culprits(text string) (list []string) {
	text, _, _ = strings.Cut(text, "Did you mean")
	count := map[string]int{}
	values := make([][]piece, len(s.of))
	for i, one := range s.of {
		var names []string
		one.slots("", &values[i], &names)
		once := map[string]bool{}
		for _, v := range values[i] {
			if !once[v.text] {
				once[v.text] = true
				count[v.text]++
			}
		}
	}
	for _, one := range s.of {
		if strings.Contains(text, one.address.String()) {
			list = append(list, one.address.String())
		}
	}
	for i, one := range s.of {
		named := func(v piece) bool { return count[v.text] == 1 && !v.number && strings.Contains(text, quoted(v.text)) }
		if len(list) == 0 && slices.ContainsFunc(values[i], named) {
			return []string{one.address.String()}
		}
	}
	if len(list) == len(s.of) {
		return nil
	}
	return list
}

// without is a block without what is left out; nil: all of it is.
func (w *printer) without(b *block, path []string) *block {
	path = append(slices.Clip(path), b.name())
	if w.drops(path, "") {
		return nil
	}
	out := *b
	out.body = nil
	for _, it := range b.body {
		if it.in != nil {
			if it.in = w.without(it.in, path); it.in == nil {
				continue
			}
		} else if w.drops(append(slices.Clip(path), it.name+"="), "") {
			continue
		}
		out.body = append(out.body, it)
	}
	return &out
}

func (w *printer) drops(path []string, key string) bool {
	_, ok := w.refused[refusal{strings.Join(path, "/"), key}]
	return ok
}

// kept are the instances of a block that are written, each without what is left out.
func (w *printer) kept(list []instance) (out []instance) {
	for _, one := range list {
		if len(w.refused) == 0 {
			return list
		}
		if w.drops([]string{one.name()}, one.address.String()) {
			continue
		}
		if b := w.without(one.block, nil); b != nil {
			out = append(out, instance{one.address, b})
		}
	}
	return out
}

// name is a block with its labels.
func (b *block) name() string {
	name := b.kind + " "
	for _, l := range b.labels {
		name += quoted(l)
	}
	return name
}

// mark notes what the line that comes next is written from.
func (w *printer) mark(attribute string) {
	path := slices.Clone(w.path)
	if attribute != "" {
		path = append(path, attribute+"=")
	}
	if w.lines == nil {
		w.lines = map[int]source{}
	}
	w.line += strings.Count(w.out.String()[w.counted:], "\n")
	w.counted = w.out.Len()
	w.lines[w.line] = source{path, w.of}
}
