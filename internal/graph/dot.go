package graph

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"strings"

	"weft/internal/slice"
)

// DOT writes the graph for Graphviz: planes are clusters, links are lines,
// and paths are dashed arrows.
func (g *Graph) DOT(w io.Writer) error {
	x, out := newIndex(g), bufio.NewWriter(w)
	fmt.Fprintf(out, "graph %s {\n  rankdir=LR\n  node [shape=box]\n", quote(g.Owner))
	for _, p := range g.Planes {
		fmt.Fprintf(out, "  subgraph %s {\n    label=%s\n", quote("cluster "+p.Addr), quote(append([]string{p.title(), p.about()}, slice.Map(p.Carries, Carry.about)...)...))
		for _, s := range x.switches[p.Addr] {
			fmt.Fprintf(out, "    %s [label=%s]\n", quote(s.Addr), quote(s.Addr, s.about()))
		}
		if len(x.loose[p.Addr]) > 0 {
			fmt.Fprintf(out, "    %s [label=\"no link declared\" shape=plaintext]\n", quote(p.Addr))
		}
		fmt.Fprint(out, "  }\n")
	}
	for _, s := range x.switches[""] {
		fmt.Fprintf(out, "  %s [label=%s]\n", quote(s.Addr), quote(s.Addr, s.about()))
	}
	for _, s := range g.Servers {
		fmt.Fprintf(out, "  %s [label=%s]\n", quote(s.Addr), quote(serverLines(s)...))
	}
	for _, l := range g.Links {
		fmt.Fprintf(out, "  %s -- %s [label=%s]\n", quote(l.From.device()), quote(l.To.device()), quote(linkWords(l)))
	}
	for _, p := range g.Planes {
		for _, n := range x.loose[p.Addr] {
			fmt.Fprintf(out, "  %s -- %s [style=dotted label=%s]\n", quote(p.Addr), quote(x.servers[n.Addr].Addr), quote(n.Name))
		}
	}
	for _, p := range x.pairs() {
		to := cmp.Or(p.server, p.target)
		fmt.Fprintf(out, "  %s -- %s [style=dashed dir=forward constraint=false label=%s]\n",
			quote(p.client), quote(to), quote(append([]string{p.target + " over " + x.planesOf(p)}, p.carried()...)...))
	}
	fmt.Fprint(out, "}\n")
	return out.Flush()
}

// quote makes one string in DOT of lines.
func quote(lines ...string) string {
	escape := strings.NewReplacer(`\`, `\\`, `"`, `\"`)
	for i, l := range lines {
		lines[i] = escape.Replace(clean(l))
	}
	return `"` + strings.Join(lines, `\n`) + `"`
}

// serverLines are a server and its NICs.
func serverLines(s *Server) []string {
	lines := []string{s.Addr}
	lines = append(lines, slice.Map(s.NICs, (*NIC).about)...)
	return lines
}

// device is the switch or the server that an end belongs to.
func (e End) device() string {
	if e.Switch != "" {
		return e.Switch
	}
	return e.Server
}

// port is the port of a switch, or the name of a NIC.
func (e End) port() string {
	if e.Switch != "" {
		return e.Port
	}
	return strings.TrimPrefix(e.NIC, e.Server+".rnic.")
}

// linkWords names both ends of a link, and its speed.
func linkWords(l *Link) string {
	words := l.From.port() + " - " + l.To.port()
	if l.Speed > 0 {
		words += ", " + speed(l.Speed)
	}
	return words
}
