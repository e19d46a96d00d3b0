package switches

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// A Wrote says that an owner wrote the frame length of a port on which nothing
// carries its name, as the ports of a fabric without classes. It is the name of an
// empty directory, made before the line is typed:
//
//	weft-wrote.OWNER.PORT.LENGTH
//
// Where the port has another length by now, it says nothing.
type Wrote struct {
	Owner  string
	Port   string // as the switch calls it
	Length int    // in bytes, as the line has it
}

const markWrote = "weft-wrote."

func (w Wrote) name() string {
	return fmt.Sprintf("%s%s.%s.%d", markWrote, w.Owner, portInName(w.Port), w.Length)
}

// portInName is a port in a name on the switch, whose file system knows no "/" in one.
func portInName(port string) string {
	return unsafe.ReplaceAllString(strings.ReplaceAll(port, "/", "_"), "-")
}

// parseWrote reads the name of a directory; its port stands as names have it.
func parseWrote(name string) (Wrote, bool) {
	rest, ok := strings.CutPrefix(name, markWrote)
	p := strings.Split(rest, ".")
	if !ok || len(p) != 3 {
		return Wrote{}, false
	}
	n, err := strconv.Atoi(p[2])
	return Wrote{Owner: p[0], Port: p[1], Length: n}, err == nil && n > 0
}

// Length is the frame length that a line gives a port, if it is one that carries
// nobody's name.
func (o *OS) Length(line string) (int, bool) {
	line = strings.TrimSpace(line)
	if !o.Lines.Unowned(line) {
		return 0, false
	}
	n, err := strconv.Atoi(line[strings.LastIndexByte(line, ' ')+1:])
	return n, err == nil && n > 0 && !strings.HasPrefix(line, "import ")
}

// LengthOf is the frame length that a port has by a line of its own; 0: by none.
func (c Reading) LengthOf(port string) int {
	_, line := c.lengthLine(port)
	n, _ := c.read.OS.Length(line)
	return n
}

// lengthLine is the line that gives a port its frame length, and the block it is in.
func (c Reading) lengthLine(port string) (Block, string) {
	for _, b := range c.read.Port[port] {
		for _, line := range b.Lines {
			if _, ok := c.read.OS.Length(line); ok {
				return b, line
			}
		}
	}
	return Block{}, ""
}

// Wrote lists the ports whose frame length the owner wrote by its marks, and that
// have it still. A port that carries its name is not among them: that says more. Nor
// is one that another owner has to do with, or whose name is not the only one that
// reads as that of the mark.
func (m Marks) Wrote(now Reading, o Owner) (ports []string) {
	if now.read == nil {
		return nil
	}
	named := now.Owned(o).Ports
	for _, port := range now.PortNames() {
		alike := func(p string) bool { return p != port && portInName(p) == portInName(port) }
		if named[port] == "" && m.says(now, o.Name, port) && !m.others(now, o, port) && !slices.ContainsFunc(now.PortNames(), alike) {
			ports = append(ports, port)
		}
	}
	return ports
}

// Told lists the ports of which a mark tells that some owner wrote their frame length.
func (m Marks) Told(now Reading) []string {
	return slices.DeleteFunc(now.PortNames(), func(port string) bool {
		return !slices.ContainsFunc(m.files, func(f string) bool {
			w, ok := parseWrote(f)
			return ok && w.Port == portInName(port) && w.Length == now.LengthOf(port)
		})
	})
}

// says reports whether a mark of the owner says that it wrote the length of a port.
func (m Marks) says(now Reading, owner, port string) bool {
	return slices.Contains(m.files, Wrote{Owner: owner, Port: port, Length: now.LengthOf(port)}.name())
}

// others reports whether another owner wrote something on a port.
func (m Marks) others(now Reading, o Owner, port string) bool {
	if slices.ContainsFunc(m.files, func(f string) bool {
		w, ok := parseWrote(f)
		return ok && w.Owner != o.Name && w.Port == portInName(port)
	}) {
		return true
	}
	return slices.ContainsFunc(now.read.Port[port], func(b Block) bool {
		return slices.ContainsFunc(b.Lines, func(l string) bool { return Weft(l) && !o.owns(now.read.OS.Attached(l)) })
	})
}

// Stale are the names of the owner's marks whose port has another length by now.
func (m Marks) Stale(now Reading, owner string) (names []string) {
	for _, f := range m.files {
		if w, ok := parseWrote(f); ok && w.Owner == owner && !slices.ContainsFunc(now.PortNames(), func(p string) bool {
			return portInName(p) == w.Port && now.LengthOf(p) == w.Length
		}) {
			names = append(names, f)
		}
	}
	return names
}

// markWrote makes the marks of what is about to be written. They go with the lease
// unless that is proven; where weft is killed, the revert makes them say nothing.
func (t *Transaction) markWrote(ctx context.Context, m Marks) error {
	for _, w := range t.guard.Wrote {
		if slices.Contains(m.files, w.name()) {
			continue
		}
		t.drop = append(t.drop, w.name())
		if err := t.s.mkdir(ctx, w.name()); err != nil {
			return fmt.Errorf("mark that the frame length of %s is weft's: %w", w.Port, err)
		}
	}
	return nil
}

// Outdate names marks that say nothing any more once the transaction is proven: they
// go with its lease.
func (t *Transaction) Outdate(names []string) { t.stale = names }

// GiveBackLength restores the frame length that a port had before weft, and leaves
// its other lines alone.
func GiveBackLength(now Reading, r Relics, port string) Return {
	if now.read == nil {
		return Return{}
	}
	b, line := now.lengthLine(port)
	if line == "" {
		return Return{}
	}
	place := strings.Join(b.Path, " / ")
	if r.Base == nil || r.Base.read == nil || r.Base.read.Port[port] == nil {
		return Return{Kept: []string{place + ": " + line + " (what was there before is not known)"}}
	}
	g := now.read.OS.Lines.Grammar
	was, _ := FindBlock(r.Base.read.Port[port], b.Path...)
	change := Line{Place: place, Key: g.Key(line), Before: line, After: keyed(g, was, g.Key(line))}
	if change.After == line {
		return Return{}
	}
	target := changed([]Block{b}, []Line{change})
	return Return{Send: g.diff([]Block{b}, target), Undo: g.diff(target, []Block{b}), Changes: []Line{change}}
}
