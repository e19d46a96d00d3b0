package switches

import (
	"maps"
	"slices"
	"strings"
)

// A Block is the lines that stand directly below a header, which has a path:
// the headers that lead to it, outermost first; none for lines of the system.
// A header without lines is a block too, and so is every header above another.
type Block struct {
	Path  []string
	Lines []string
}

// Head is the outermost header; "" for lines that stand below none.
func (b Block) Head() string {
	if len(b.Path) == 0 {
		return ""
	}
	return b.Path[0]
}

func (b Block) Clone() Block { return Block{b.Path, slices.Clone(b.Lines)} }

func FindBlock(bs []Block, path ...string) (Block, bool) {
	i := slices.IndexFunc(bs, func(b Block) bool { return slices.Equal(b.Path, path) })
	if i < 0 {
		return Block{Path: path}, false
	}
	return bs[i], true
}

// MergeBlocks makes one block of those with the same path, in which a line
// replaces earlier ones with its key.
func MergeBlocks(bs []Block, key func(string) string) (out []Block) {
	for _, b := range bs {
		i := slices.IndexFunc(out, func(o Block) bool { return slices.Equal(o.Path, b.Path) })
		if i < 0 {
			i = len(out)
			out = append(out, Block{Path: b.Path})
		}
		for _, line := range b.Lines {
			k := key(line)
			out[i].Lines = append(slices.DeleteFunc(out[i].Lines, func(l string) bool { return key(l) == k }), line)
		}
	}
	return out
}

// A Grammar is what the comparison of blocks must know about an OS.
type Grammar struct {
	Key    func(line string) string     // lines of one block with the same key replace each other
	Undo   func(line string) string     // takes a line back
	Remove func(header string) string   // removes a header and all below it; "" if it always exists
	Rank   func(header string) int      // order of outermost headers: what is referred to comes first
	Early  func(have, want string) bool // a replacement that makes room for others
	Join   func(lines []string) []string
	Indent string
	Leave  string // leaves a header; "" where the next header does that
}

// diff lists the lines that lead from have to want: first what goes, from the
// last header back to the first, then what comes.
func (g Grammar) diff(have, want []Block) []string {
	have, want = g.sorted(have), g.sorted(want)
	s := script{Grammar: g}
	for _, h := range slices.Backward(have) {
		w, stays := FindBlock(want, h.Path...)
		if len(h.Path) == 0 {
			s.add(nil, g.down(h, w)...)
			continue
		}
		parent, last := h.Path[:len(h.Path)-1], h.Path[len(h.Path)-1]
		if len(parent) > 0 {
			if _, ok := FindBlock(want, parent...); !ok {
				continue // goes with its parent
			}
		}
		if no := g.Remove(last); !stays && no != "" {
			s.add(parent, no)
			continue
		}
		s.add(h.Path, g.down(h, w)...)
	}
	for _, w := range want {
		h, was := FindBlock(have, w.Path...)
		if !was && len(w.Path) > 0 && g.Remove(w.Path[len(w.Path)-1]) != "" {
			s.enter(w.Path)
		}
		s.add(w.Path, g.up(h, w)...)
	}
	s.enter(nil)
	return s.out
}

// down reverts the lines of h that w does not replace, last first, and
// sends those replacements that make room.
func (g Grammar) down(h, w Block) (out []string) {
	for _, line := range slices.Backward(h.Lines) {
		switch other, ok := g.same(w, line); {
		case !ok:
			if no := g.Undo(line); !slices.Contains(out, no) {
				out = append(out, no)
			}
		case other != line && g.Early(line, other):
			out = append(out, other)
		}
	}
	return out
}

func (g Grammar) up(h, w Block) (out []string) {
	for _, line := range w.Lines {
		if other, ok := g.same(h, line); !ok || other != line && !g.Early(other, line) {
			out = append(out, line)
		}
	}
	return out
}

// same finds the line of b that has the key of line.
func (g Grammar) same(b Block, line string) (string, bool) {
	k := g.Key(line)
	i := slices.IndexFunc(b.Lines, func(l string) bool { return g.Key(l) == k })
	if i < 0 {
		return "", false
	}
	return b.Lines[i], true
}

func (g Grammar) sorted(bs []Block) []Block {
	bs = slices.Clone(bs)
	slices.SortStableFunc(bs, func(a, b Block) int {
		if d := g.Rank(a.Head()) - g.Rank(b.Head()); d != 0 {
			return d
		}
		return 0
	})
	return bs
}

// A script is lines being written, each below the headers it needs.
type script struct {
	Grammar
	out []string
	at  []string // the headers we are in
}

func (s *script) add(path []string, lines ...string) {
	if len(lines) == 0 {
		return
	}
	s.enter(path)
	for _, line := range s.Join(lines) {
		s.write(len(path), line)
	}
}

func (s *script) enter(path []string) {
	shared := 0
	for shared < min(len(path), len(s.at)) && path[shared] == s.at[shared] {
		shared++
	}
	if s.Leave != "" {
		for depth := len(s.at); depth > shared; depth-- {
			s.write(depth, s.Leave)
		}
	} else if len(s.at) > len(path) && shared == len(path) && shared > 0 {
		shared-- // without a line that leaves, the header is entered anew
	}
	for ; shared < len(path); shared++ {
		s.write(shared, path[shared])
	}
	s.at = path
}

func (s *script) write(depth int, line string) {
	s.out = append(s.out, strings.Repeat(s.Indent, depth)+line)
}

// A Node is one line of a printed configuration with what is indented below
// it.
type Node struct {
	Line string
	Kids []*Node
}

// parseTree reads a printed configuration by its indentation. Comments and
// separators are left out; a header that is printed twice appears twice. The
// text of a banner is below its header, whatever it looks like.
func parseTree(text string) []*Node {
	root := &Node{}
	type level struct {
		indent int
		node   *Node
	}
	stack := []level{{-1, root}}
	banner := 0 // lines of one that are still to come
	lines := slices.Collect(strings.Lines(text))
	for i, raw := range lines {
		raw = strings.TrimRight(raw, " \t\r\n")
		line := strings.TrimLeft(raw, " \t")
		if banner > 0 {
			banner--
			if top := stack[len(stack)-1].node; line != "" {
				top.Kids = append(top.Kids, &Node{Line: line})
			}
			continue
		}
		if line == "" || line[0] == '!' {
			continue
		}
		if line == "#" { // Comware: a new section, whatever its indentation
			stack = stack[:1]
			continue
		}
		indent := len(raw) - len(line)
		for stack[len(stack)-1].indent >= indent {
			stack = stack[:len(stack)-1]
		}
		n := &Node{Line: strings.Join(strings.Fields(line), " ")}
		top := stack[len(stack)-1].node
		top.Kids = append(top.Kids, n)
		stack = append(stack, level{indent, n})
		banner = max(0, bannerLength(lines[i:])-1)
	}
	return root.Kids
}

// flatten writes each line after the headers that lead to it, in an order that
// does not depend on that of the sections.
func flatten(ns []*Node) []string {
	lines := map[string]bool{}
	var walk func(ns []*Node, at string)
	walk = func(ns []*Node, at string) {
		for _, n := range ns {
			lines[at+n.Line] = true
			walk(n.Kids, at+n.Line+" / ")
		}
	}
	walk(ns, "")
	return slices.Sorted(maps.Keys(lines))
}
