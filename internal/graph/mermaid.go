package graph

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"weft/internal/slice"
)

// Mermaid writes the graph as a flowchart for Mermaid, which Markdown on many
// sites shows: planes are subgraphs, links are lines, paths are dotted arrows.
func (g *Graph) Mermaid(w io.Writer) error {
	x, out := newIndex(g), bufio.NewWriter(w)
	ids := map[string]string{} // Mermaid has no names with such characters
	id := func(addr string) string {
		if ids[addr] == "" {
			ids[addr] = fmt.Sprintf("n%d", len(ids))
		}
		return ids[addr]
	}
	node := func(indent, addr string, lines ...string) {
		fmt.Fprintf(out, "%s%s[%s]\n", indent, id(addr), mermaidText(lines...))
	}
	fmt.Fprint(out, "flowchart LR\n")
	for i, p := range g.Planes {
		fmt.Fprintf(out, "  subgraph p%d[%s]\n", i, mermaidText(append([]string{p.title() + ": " + p.about()}, slice.Map(p.Carries, Carry.about)...)...))
		for _, s := range x.switches[p.Addr] {
			node("    ", s.Addr, s.Addr, s.about())
		}
		if len(x.loose[p.Addr]) > 0 {
			node("    ", p.Addr, "no link declared")
		}
		fmt.Fprint(out, "  end\n")
	}
	for _, s := range x.switches[""] {
		node("  ", s.Addr, s.Addr, s.about())
	}
	for _, s := range g.Servers {
		node("  ", s.Addr, serverLines(s)...)
	}
	for _, l := range g.Links {
		fmt.Fprintf(out, "  %s ---|%s| %s\n", id(l.From.device()), mermaidText(linkWords(l)), id(l.To.device()))
	}
	for _, p := range g.Planes {
		for _, n := range x.loose[p.Addr] {
			fmt.Fprintf(out, "  %s -.-|%s| %s\n", id(p.Addr), mermaidText(n.Name), id(x.servers[n.Addr].Addr))
		}
	}
	for _, p := range x.pairs() {
		to := p.server
		if to == "" {
			to = p.target
			if ids[to] == "" {
				node("  ", to, to)
			}
		}
		fmt.Fprintf(out, "  %s -.->|%s| %s\n", id(p.client), mermaidText(append([]string{p.target + " over " + x.planesOf(p)}, p.carried()...)...), id(to))
	}
	return out.Flush()
}

// mermaidText makes one quoted text of lines.
func mermaidText(lines ...string) string {
	escape := strings.NewReplacer(`#`, "#35;", `"`, "#quot;", `<`, "#lt;", `>`, "#gt;", "`", "#96;", `\`, "#92;")
	for i, l := range lines {
		lines[i] = escape.Replace(clean(l))
	}
	return `"` + strings.Join(lines, "<br/>") + `"`
}
