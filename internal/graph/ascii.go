package graph

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"weft/internal/slice"
	"weft/internal/text"
)

const width = 100 // of a terminal

// ASCII writes the graph as text.
func (g *Graph) ASCII(w io.Writer) error {
	t := &drawing{index: newIndex(g), w: bufio.NewWriter(w)}
	t.line("%s: %s, %s, %s, %s, %s", clean(g.Owner), text.Count(len(g.Planes), "plane", "planes"),
		text.Count(len(g.Switches), "switch", "switches"), text.Count(len(g.Servers), "server", "servers"),
		text.Count(len(g.Links), "link", "links"), text.Count(len(g.Paths), "path", "paths"))
	for _, p := range g.Planes {
		t.line("\n%s  %s", p.title(), p.about())
		if len(p.Carries) > 0 {
			t.wrapped("  ", slice.Map(p.Carries, Carry.about), "; ", "")
		}
		t.plane(p.Addr)
	}
	if len(t.switches[""]) > 0 || len(t.direct[""]) > 0 {
		t.line("\nin no plane")
		t.plane("")
	}
	if len(g.Servers) > 0 {
		t.line("\nservers")
		t.hosts()
	}
	if len(g.Paths) > 0 {
		t.line("\npaths, initiator to target")
		t.routes()
	}
	return t.w.Flush()
}

type drawing struct {
	*index
	w *bufio.Writer
}

func (t *drawing) line(format string, args ...any) {
	fmt.Fprintf(t.w, format, args...)
	t.w.WriteByte('\n')
}

// plane writes the switches of a plane and what is cabled to them.
func (t *drawing) plane(addr string) {
	for _, s := range t.switches[addr] {
		t.line("  %s  %s", clean(s.Addr), s.about())
		rows := slice.Map(t.ends[s.Addr], func(e side) []string { return []string{clean(e.port), speed(e.link.Speed), e.other.name(), e.other.IP} })
		t.table("    ", rows)
	}
	if direct := t.direct[addr]; len(direct) > 0 {
		t.line("  without a switch")
		rows := slice.Map(direct, func(l *Link) []string {
			return []string{l.From.name(), l.From.IP, speed(l.Speed), l.To.name(), l.To.IP}
		})
		t.table("    ", rows)
	}
	if loose := t.loose[addr]; len(loose) > 0 {
		t.line("  no link declared")
		rows := slice.Map(loose, func(n *NIC) []string { return []string{clean(n.Addr), n.Address} })
		t.table("    ", rows)
	}
}

// hosts writes each server with its NICs.
func (t *drawing) hosts() {
	names := 0
	for _, s := range t.Servers {
		names = max(names, text.Width(clean(s.Addr)))
	}
	for _, s := range t.Servers {
		parts := slice.Map(s.NICs, func(n *NIC) string { return n.about() + " (" + t.planeName(n.Plane) + ")" })
		t.wrapped("  "+text.Pad(clean(s.Addr), min(names, width/3))+"  ", parts, "  ", "")
	}
}

// wrapped writes parts after a heading, and in more lines below the first
// part when they are too long for one. glue stands between two parts in a
// line, lead before one that begins a line.
func (t *drawing) wrapped(heading string, parts []string, glue, lead string) {
	indent := strings.Repeat(" ", text.Width(heading))
	line := heading
	for i, part := range parts {
		switch {
		case i == 0:
			line += part
		case text.Width(line+glue+part) > width:
			t.line("%s", line)
			line = indent + lead + part
		default:
			line += glue + part
		}
	}
	t.line("%s", strings.TrimRight(line, " "))
}

// routes writes how each initiator reaches each of its targets.
func (t *drawing) routes() {
	unknown := false
	for _, p := range t.pairs() {
		t.line("  %s -> %s", clean(p.initiator), clean(p.target))
		if labels := p.carried(); len(labels) > 0 {
			t.wrapped("    ", labels, "; ", "")
		}
		names := 0
		for _, path := range p.paths {
			names = max(names, text.Width(t.planeName(path.Plane)))
		}
		for _, path := range p.paths {
			t.wrapped("    "+text.Pad(t.planeName(path.Plane), names)+"  ", hops(path), " -- ", "-- ")
			unknown = unknown || !path.Cabled
		}
	}
	if unknown {
		t.line("  ?: no link is declared there")
	}
}

// hops are the stations of a path; what no link says is a question mark.
func hops(p *Path) []string {
	var list []string
	if p.From != "" {
		list = append(list, clean(p.From))
	}
	list = append(list, slice.Map(p.Switches, clean)...)
	if !p.Cabled {
		list = append(list, "?")
	}
	return append(list, clean(p.To))
}

// table writes rows in columns.
func (t *drawing) table(indent string, rows [][]string) {
	widths := map[int]int{}
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], text.Width(cell))
		}
	}
	for _, row := range rows {
		line := indent
		for i, cell := range row {
			if widths[i] > 0 {
				line += text.Pad(cell, widths[i]+2)
			}
		}
		t.line("%s", strings.TrimRight(line, " "))
	}
}
