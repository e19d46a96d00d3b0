package switches

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// A box is a printed configuration on which lines can be played: the simplest
// switch that shows whether lines and their undo fit each other. It knows
// nothing but indentation, "no" or "undo", and which lines replace each other.
type box struct {
	driver  *OS
	out     map[string]string
	running string // the command that prints the configuration
	unit    string
	no      string
	root    *node
}

func newBox(d *OS, out map[string]string) *box {
	b := &box{driver: d, out: out, running: nxosRunning, unit: "  ", no: "no "}
	if d.Name == "comware" {
		b.running, b.unit, b.no = comwareRunning, " ", "undo "
	}
	b.root = &node{kids: parseTree(out[b.running])}
	b.normal(b.root)
	return b
}

// normal prints what the configuration means as a switch would.
func (b *box) normal(n *node) {
	var kids []*node
	for _, k := range n.kids {
		b.normal(k)
		if b.no == "no " {
			k.line = nxosNormal(k.line)
		}
		if list, ok := strings.CutPrefix(k.line, "match dscp "); ok {
			for _, d := range parseRanges(list, dscpNumber) {
				kids = append(kids, &node{line: fmt.Sprint("match dscp ", d)})
			}
			continue
		}
		if imports := comwareImports(k.line); len(imports) > 0 {
			for _, l := range imports {
				kids = append(kids, &node{line: l})
			}
			continue
		}
		kids = append(kids, k)
	}
	n.kids = kids
}

func (b *box) print() map[string]string {
	var w strings.Builder
	var walk func(n *node, depth int)
	walk = func(n *node, depth int) {
		for _, k := range n.kids {
			if len(k.kids) == 0 && (k.line == nxosSystem || strings.HasPrefix(k.line, "qos map-table")) {
				continue // a default is not printed
			}
			if b.no == "undo " && depth == 0 {
				w.WriteString("#\n")
			}
			fmt.Fprintln(&w, strings.Repeat(b.unit, depth)+k.line)
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
		out[comwareDSCP] = b.table(comwareDSCP, comwareMapDSCP)
		out[comwareDot1p] = b.table(comwareDot1p, comwareMapDot1p)
		out[comwareFrames] = b.frames()
	}
	return out
}

// table prints the default map with the imports of the configuration.
func (b *box) table(cmd, header string) string {
	name := header[strings.LastIndexByte(header, ' ')+1:]
	m := comwareMap(b.out[cmd], name)
	for _, n := range b.root.kids {
		if n.line != header {
			continue
		}
		for _, k := range n.kids {
			var from, to int
			if _, err := fmt.Sscanf(k.line, "import %d export %d", &from, &to); err == nil {
				m[from] = to
			}
		}
	}
	s := "MAP-TABLE NAME: " + name + "   TYPE: pre-define\nIMPORT  :  EXPORT\n"
	for _, from := range sortedKeys(m) {
		s += fmt.Sprintf("  %2d    :    %d\n", from, m[from])
	}
	return s
}

func (b *box) frames() string {
	s := ""
	was := comwareFrameLengths(b.out[comwareFrames])
	for _, n := range b.root.kids {
		name, ok := strings.CutPrefix(n.line, comwareIface)
		if !ok {
			continue
		}
		frame := was[name]
		for _, k := range n.kids {
			if v, ok := strings.CutPrefix(k.line, comwareJumbo); ok {
				frame = atoi(v)
			}
		}
		s += fmt.Sprintf("%s\nCurrent state: UP\nMaximum frame length: %d\n\n", name, frame)
	}
	return s
}

// play types lines. A header enters; a line goes to the innermost header that
// takes it.
func (b *box) play(t *testing.T, lines []string) {
	t.Helper()
	var at []*node
	for _, raw := range lines {
		line := strings.TrimSpace(raw)
		depth := (len(raw) - len(strings.TrimLeft(raw, " "))) / len(b.unit)
		if line == "quit" {
			if len(at) == 0 {
				t.Fatalf("quit leaves nothing")
			}
			at = at[:len(at)-1]
			continue
		}
		if depth > len(at) {
			t.Fatalf("%q stands below nothing", raw)
		}
		at = at[:depth]
		in := b.root
		if depth > 0 {
			in = at[depth-1]
		}
		if what, ok := strings.CutPrefix(line, b.no); ok {
			b.remove(t, in, what)
		} else if n := b.set(in, line); isHeader(line) {
			at = append(at, n)
		}
	}
}

func isHeader(line string) bool {
	for _, p := range []string{"interface ", "class-map ", "policy-map ", "class ", "system qos", "qos map-table ", "qos wred queue table "} {
		if strings.HasPrefix(line, p) {
			return true
		}
	}
	return false
}

func (b *box) set(in *node, line string) *node {
	key, replace := comwareKey, true
	if b.no == "no " {
		key = nxosKey
	}
	if list, ok := strings.CutPrefix(line, "match dscp "); ok {
		var n *node
		for _, d := range parseRanges(list, dscpNumber) {
			n = b.one(in, fmt.Sprint("match dscp ", d), key, replace)
		}
		return n
	}
	if imports := comwareImports(line); len(imports) > 1 {
		var n *node
		for _, l := range imports {
			n = b.one(in, l, key, replace)
		}
		return n
	}
	return b.one(in, line, key, replace)
}

func (b *box) one(in *node, line string, key func(string) string, replace bool) *node {
	for _, k := range in.kids {
		if k.line == line || replace && key(k.line) == key(line) {
			k.line = line
			return k
		}
	}
	n := &node{line: line}
	in.kids = append(in.kids, n)
	return n
}

// remove takes lines off: the one that is named, or those that begin so.
// What is attached cannot be removed, and what is not there neither.
func (b *box) remove(t *testing.T, in *node, what string) {
	t.Helper()
	if isHeader(what) && in == b.root {
		if name := objectOf(what); name != "" && b.mentions(b.root, name, what) {
			t.Fatalf("%s%s: it is in use", b.no, what)
		}
	}
	if list, ok := strings.CutPrefix(what, "match dscp "); ok {
		for _, d := range parseRanges(list, dscpNumber) {
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

func (b *box) cut(t *testing.T, in *node, what string) {
	t.Helper()
	before := len(in.kids)
	in.kids = slices.DeleteFunc(in.kids, func(k *node) bool {
		return k.line == what || b.no == "undo " && comwareKey(k.line) == what || strings.HasPrefix(k.line, what+" ") && len(strings.Fields(what)) < 3 && what != "qos wfq"
	})
	if len(in.kids) == before {
		t.Fatalf("%s%s below %q: nothing like that", b.no, what, in.line)
	}
}

func (b *box) mentions(n *node, name, header string) bool {
	for _, k := range n.kids {
		if k.line != header && strings.HasSuffix(k.line, " "+name) || b.mentions(k, name, header) {
			return !strings.HasPrefix(k.line, "class-map") && !strings.HasPrefix(k.line, "policy-map") || b.mentions(k, name, header)
		}
	}
	return false
}
