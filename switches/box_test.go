package switches_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"weft/internal/traffic"
	"weft/switches"
)

// A box is a printed configuration on which lines can be played: the simplest
// switch that shows whether lines and their undo fit each other. It knows
// nothing but indentation, "no" or "undo", and which lines replace each other.
type box struct {
	driver  *switches.OS
	out     map[string]string
	running string // the command that prints the configuration
	unit    string
	no      string
	key     func(line string) string
	root    *switches.Node
}

func newBox(d *switches.OS, out map[string]string) *box {
	g := d.Lines.Grammar
	b := &box{driver: d, out: out, running: d.Dialect.Running, unit: g.Indent, no: strings.TrimSuffix(g.Undo("x"), "x"), key: g.Key}
	b.root = &switches.Node{Kids: switches.ParseTree(out[b.running])}
	b.normal(b.root)
	return b
}

// Normal prints what the configuration means as a switch would.
func (b *box) normal(n *switches.Node) {
	var kids []*switches.Node
	for _, k := range n.Kids {
		b.normal(k)
		k.Line = b.driver.Lines.Words().Normal(k.Line)
		if list, ok := strings.CutPrefix(k.Line, "match dscp "); ok {
			for _, d := range traffic.ParseRanges(list, traffic.ParseDSCP) {
				kids = append(kids, &switches.Node{Line: fmt.Sprint("match dscp ", d)})
			}
			continue
		}
		if imports := imports(k.Line); len(imports) > 0 {
			for _, l := range imports {
				kids = append(kids, &switches.Node{Line: l})
			}
			continue
		}
		kids = append(kids, k)
	}
	n.Kids = kids
}

func (b *box) print() map[string]string {
	var w strings.Builder
	var walk func(n *switches.Node, depth int)
	walk = func(n *switches.Node, depth int) {
		for _, k := range n.Kids {
			if len(k.Kids) == 0 && (k.Line == "system qos" || strings.HasPrefix(k.Line, "qos map-table")) {
				continue // a default is not printed
			}
			if b.no == "undo " && depth == 0 {
				w.WriteString("#\n")
			}
			fmt.Fprintln(&w, strings.Repeat(b.unit, depth)+k.Line)
			walk(k, depth+1)
		}
	}
	walk(b.root, 0)
	out := map[string]string{}
	for k, v := range b.out {
		out[k] = v
	}
	out[b.running] = w.String()
	if b.no == "undo " {
		out["display qos map-table dscp-dot1p"] = b.table("display qos map-table dscp-dot1p", "qos map-table dscp-dot1p")
		out["display qos map-table dot1p-lp"] = b.table("display qos map-table dot1p-lp", "qos map-table dot1p-lp")
		out["display interface"] = b.frames()
	}
	return out
}

// table prints the default map with the imports of the configuration.
func (b *box) table(cmd, header string) string {
	name := header[strings.LastIndexByte(header, ' ')+1:]
	m := entries(b.out[cmd], name)
	for _, n := range b.root.Kids {
		if n.Line != header {
			continue
		}
		for _, k := range n.Kids {
			var from, to int
			if _, err := fmt.Sscanf(k.Line, "import %d export %d", &from, &to); err == nil {
				m[from] = to
			}
		}
	}
	s := "MAP-TABLE NAME: " + name + "   TYPE: pre-define\nIMPORT  :  EXPORT\n"
	for _, from := range slices.Sorted(maps.Keys(m)) {
		s += fmt.Sprintf("  %2d    :    %d\n", from, m[from])
	}
	return s
}

func (b *box) frames() string {
	s := ""
	was := lengths(b.out["display interface"])
	for _, n := range b.root.Kids {
		name, ok := strings.CutPrefix(n.Line, "interface ")
		if !ok {
			continue
		}
		frame := was[name]
		for _, k := range n.Kids {
			if v, ok := strings.CutPrefix(k.Line, "jumboframe enable "); ok {
				frame = switches.Number(v)
			}
		}
		s += fmt.Sprintf("%s\nCurrent state: UP\nMaximum frame length: %d\n\n", name, frame)
	}
	return s
}

// play types lines. One that deeper ones follow is a header, and enters.
func (b *box) play(t *testing.T, lines []string) {
	t.Helper()
	var at []*switches.Node
	depth := func(raw string) int { return (len(raw) - len(strings.TrimLeft(raw, " "))) / len(b.unit) }
	for i, raw := range lines {
		line, deep := strings.TrimSpace(raw), depth(raw)
		if line == "quit" {
			if len(at) == 0 {
				t.Fatalf("quit leaves nothing")
			}
			at = at[:len(at)-1]
			continue
		}
		if deep > len(at) {
			t.Fatalf("%q stands below nothing", raw)
		}
		at = at[:deep]
		in := b.root
		if deep > 0 {
			in = at[deep-1]
		}
		if what, ok := strings.CutPrefix(line, b.no); ok {
			b.remove(t, in, what)
		} else if n := b.set(in, line); i+1 < len(lines) && depth(lines[i+1]) > deep {
			at = append(at, n)
		}
	}
}

func (b *box) set(in *switches.Node, line string) *switches.Node {
	if list, ok := strings.CutPrefix(line, "match dscp "); ok {
		var n *switches.Node
		for _, d := range traffic.ParseRanges(list, traffic.ParseDSCP) {
			n = b.one(in, fmt.Sprint("match dscp ", d))
		}
		return n
	}
	if imports := imports(line); len(imports) > 1 {
		var n *switches.Node
		for _, l := range imports {
			n = b.one(in, l)
		}
		return n
	}
	return b.one(in, line)
}

func (b *box) one(in *switches.Node, line string) *switches.Node {
	for _, k := range in.Kids {
		if k.Line == line || b.key(k.Line) == b.key(line) {
			k.Line = line
			return k
		}
	}
	n := &switches.Node{Line: line}
	in.Kids = append(in.Kids, n)
	return n
}

// Remove takes lines off: the one that is named, or those that begin so.
// What is attached cannot be removed, and what is not there neither.
func (b *box) remove(t *testing.T, in *switches.Node, what string) {
	t.Helper()
	if in == b.root {
		if name := switches.Object(what); name != "" && b.mentions(b.root, name, what) {
			t.Fatalf("%s%s: it is in use", b.no, what)
		}
	}
	if list, ok := strings.CutPrefix(what, "match dscp "); ok {
		for _, d := range traffic.ParseRanges(list, traffic.ParseDSCP) {
			b.cut(t, in, fmt.Sprint("match dscp ", d))
		}
		return
	}
	if list, ok := strings.CutPrefix(what, "import "); ok {
		for _, d := range strings.Fields(list) {
			b.cut(t, in, "import "+d)
		}
		return
	}
	b.cut(t, in, what)
}

func (b *box) cut(t *testing.T, in *switches.Node, what string) {
	t.Helper()
	before := len(in.Kids)
	in.Kids = slices.DeleteFunc(in.Kids, func(k *switches.Node) bool {
		return k.Line == what || b.no == "undo " && b.key(k.Line) == what || strings.HasPrefix(k.Line, what+" ") && len(strings.Fields(what)) < 3 && what != "qos wfq"
	})
	if len(in.Kids) == before {
		t.Fatalf("%s%s below %q: nothing like that", b.no, what, in.Line)
	}
}

func (b *box) mentions(n *switches.Node, name, header string) bool {
	for _, k := range n.Kids {
		if k.Line != header && strings.HasSuffix(k.Line, " "+name) || b.mentions(k, name, header) {
			return !strings.HasPrefix(k.Line, "class-map") && !strings.HasPrefix(k.Line, "policy-map") || b.mentions(k, name, header)
		}
	}
	return false
}

// imports are the lines that "import 4 5 export 1" stands for.
func imports(line string) (out []string) {
	list, to, ok := strings.Cut(line, " export ")
	list, isImport := strings.CutPrefix(list, "import ")
	if !ok || !isImport {
		return nil
	}
	for _, d := range traffic.ParseRanges(strings.ReplaceAll(strings.ReplaceAll(list, " to ", "-"), " ", ","), traffic.ParseDSCP) {
		out = append(out, fmt.Sprintf("import %d export %d", d, switches.Number(to)))
	}
	return out
}

// entries are those of a printed map.
func entries(text, name string) map[int]int {
	out := map[int]int{}
	_, text, _ = strings.Cut(text, "MAP-TABLE NAME: "+name+" ")
	text, _, _ = strings.Cut(text, "MAP-TABLE NAME: ")
	for line := range strings.Lines(text) {
		var from, to int
		if n, _ := fmt.Sscanf(strings.TrimSpace(line), "%d : %d", &from, &to); n == 2 {
			out[from] = to
		}
	}
	return out
}

// lengths are the longest frames by port.
func lengths(text string) map[string]int {
	out, name := map[string]int{}, ""
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if _, frame, ok := strings.Cut(line, "rame length: "); ok {
			out[name] = switches.Number(frame)
		} else if strings.Contains(line, "GigE") && !strings.Contains(line, ":") {
			name = line
		}
	}
	return out
}
