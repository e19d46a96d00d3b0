package switches

import (
	"maps"
	"slices"
	"strings"
)

// A block is the lines that stand directly below a header, which has a path:
// the headers that lead to it, outermost first; none for lines of the system.
// A header without lines is a block too, and so is every header above another.
type block struct {
	path  []string
	lines []string
}

// head is the outermost header; "" for lines that stand below none.
func (b block) head() string {
	if len(b.path) == 0 {
		return ""
	}
	return b.path[0]
}

func (b block) clone() block { return block{b.path, slices.Clone(b.lines)} }

func findBlock(bs []block, path ...string) (block, bool) {
	i := slices.IndexFunc(bs, func(b block) bool { return slices.Equal(b.path, path) })
	if i < 0 {
		return block{path: path}, false
	}
	return bs[i], true
}

// mergeBlocks makes one block of those with the same path, in which a line
// replaces earlier ones with its key.
func mergeBlocks(bs []block, key func(string) string) (out []block) {
	for _, b := range bs {
		i := slices.IndexFunc(out, func(o block) bool { return slices.Equal(o.path, b.path) })
		if i < 0 {
			i = len(out)
			out = append(out, block{path: b.path})
		}
		for _, line := range b.lines {
			k := key(line)
			out[i].lines = append(slices.DeleteFunc(out[i].lines, func(l string) bool { return key(l) == k }), line)
		}
	}
	return out
}

// A grammar is what the comparison of blocks must know about an OS.
type grammar struct {
	key    func(line string) string     // lines of one block with the same key replace each other
	undo   func(line string) string     // takes a line back
	remove func(header string) string   // removes a header and all below it; "" if it always exists
	rank   func(header string) int      // order of outermost headers: what is referred to comes first
	early  func(have, want string) bool // a replacement that makes room for others
	join   func(lines []string) []string
	indent string
	leave  string // leaves a header; "" where the next header does that
}

// diff lists the lines that lead from have to want: first what goes, from the
// last header back to the first, then what comes.
func (g grammar) diff(have, want []block) []string {
	have, want = g.sorted(have), g.sorted(want)
	s := script{grammar: g}
	for _, h := range slices.Backward(have) {
		w, stays := findBlock(want, h.path...)
		if len(h.path) == 0 {
			s.add(nil, g.down(h, w)...)
			continue
		}
		parent, last := h.path[:len(h.path)-1], h.path[len(h.path)-1]
		if len(parent) > 0 {
			if _, ok := findBlock(want, parent...); !ok {
				continue // goes with its parent
			}
		}
		if no := g.remove(last); !stays && no != "" {
			s.add(parent, no)
			continue
		}
		s.add(h.path, g.down(h, w)...)
	}
	for _, w := range want {
		h, was := findBlock(have, w.path...)
		if !was && len(w.path) > 0 && g.remove(w.path[len(w.path)-1]) != "" {
			s.enter(w.path)
		}
		s.add(w.path, g.up(h, w)...)
	}
	s.enter(nil)
	return s.out
}

// down takes back the lines of h that w does not replace, last first, and
// sends those replacements that make room.
func (g grammar) down(h, w block) (out []string) {
	for _, line := range slices.Backward(h.lines) {
		switch other, ok := g.same(w, line); {
		case !ok:
			if no := g.undo(line); !slices.Contains(out, no) {
				out = append(out, no)
			}
		case other != line && g.early(line, other):
			out = append(out, other)
		}
	}
	return out
}

func (g grammar) up(h, w block) (out []string) {
	for _, line := range w.lines {
		if other, ok := g.same(h, line); !ok || other != line && !g.early(other, line) {
			out = append(out, line)
		}
	}
	return out
}

// same finds the line of b that has the key of line.
func (g grammar) same(b block, line string) (string, bool) {
	k := g.key(line)
	i := slices.IndexFunc(b.lines, func(l string) bool { return g.key(l) == k })
	if i < 0 {
		return "", false
	}
	return b.lines[i], true
}

func (g grammar) sorted(bs []block) []block {
	bs = slices.Clone(bs)
	slices.SortStableFunc(bs, func(a, b block) int {
		if d := g.rank(a.head()) - g.rank(b.head()); d != 0 {
			return d
		}
		return 0
	})
	return bs
}

// A script is lines being written, each below the headers it needs.
type script struct {
	grammar
	out []string
	at  []string // the headers we are in
}

func (s *script) add(path []string, lines ...string) {
	if len(lines) == 0 {
		return
	}
	s.enter(path)
	for _, line := range s.join(lines) {
		s.write(len(path), line)
	}
}

func (s *script) enter(path []string) {
	shared := 0
	for shared < min(len(path), len(s.at)) && path[shared] == s.at[shared] {
		shared++
	}
	if s.leave != "" {
		for depth := len(s.at); depth > shared; depth-- {
			s.write(depth, s.leave)
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
	s.out = append(s.out, strings.Repeat(s.indent, depth)+line)
}

// A node is one line of a printed configuration with what is indented below
// it.
type node struct {
	line string
	kids []*node
}

// parseTree reads a printed configuration by its indentation. Comments and
// separators are left out; a header that is printed twice appears twice. The
// text of a banner is below its header, whatever it looks like.
func parseTree(text string) []*node {
	root := &node{}
	type level struct {
		indent int
		node   *node
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
				top.kids = append(top.kids, &node{line: line})
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
		n := &node{line: strings.Join(strings.Fields(line), " ")}
		top := stack[len(stack)-1].node
		top.kids = append(top.kids, n)
		stack = append(stack, level{indent, n})
		banner = max(0, bannerLength(lines[i:])-1)
	}
	return root.kids
}

// flatten writes each line after the headers that lead to it, in an order that
// does not depend on that of the sections.
func flatten(ns []*node) []string {
	lines := map[string]bool{}
	var walk func(ns []*node, at string)
	walk = func(ns []*node, at string) {
		for _, n := range ns {
			lines[at+n.line] = true
			walk(n.kids, at+n.line+" / ")
		}
	}
	walk(ns, "")
	return slices.Sorted(maps.Keys(lines))
}
