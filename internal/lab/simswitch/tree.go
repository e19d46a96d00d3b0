package simswitch

import (
	"slices"
	"strings"

	"weft/internal/slice"
)

// A node is one line of a configuration with the lines below it. Nodes never
// change: an edit makes new nodes along its path and shares the others, so what
// a switch goes back to is a pointer.
type node struct {
	key   string // what the line is about: a line with the same key replaces it
	line  string // as printed
	at    int    // where it stands among its siblings, see Rule.at
	empty bool   // printed even without lines below it
	view  bool   // a context, not a single line
	kids  []*node
}

// A place is the way from the root to a node, by keys.
type place []string

// get is the node at p, or nil.
func (n *node) get(p place) *node {
	for _, key := range p {
		if n = n.kid(key); n == nil {
			return nil
		}
	}
	return n
}

func (n *node) kid(key string) *node {
	return slice.First(n.kids, func(k *node) bool { return k.key == key })
}

// with is the tree in which the node at p has the kid k; the place must exist.
// A kid with the same key is replaced, its own kids are kept.
func (n *node) with(p place, k *node) *node {
	c := *n
	c.kids = slices.Clone(n.kids)
	if len(p) > 0 {
		i := slices.IndexFunc(c.kids, func(x *node) bool { return x.key == p[0] })
		c.kids[i] = c.kids[i].with(p[1:], k)
		return &c
	}
	if i := slices.IndexFunc(c.kids, func(x *node) bool { return x.key == k.key }); i >= 0 {
		with := *k
		if len(with.kids) == 0 {
			with.kids = c.kids[i].kids
		}
		c.kids[i] = &with
		return &c
	}
	i := len(c.kids) // after everything that belongs before it
	for i > 0 && c.kids[i-1].at > k.at {
		i--
	}
	c.kids = slices.Insert(c.kids, i, k)
	return &c
}

// without is the tree in which the node at p has no kid called key.
func (n *node) without(p place, key string) *node {
	c := *n
	if len(p) > 0 {
		c.kids = slices.Clone(n.kids)
		i := slices.IndexFunc(c.kids, func(x *node) bool { return x.key == p[0] })
		c.kids[i] = c.kids[i].without(p[1:], key)
		return &c
	}
	c.kids = slices.DeleteFunc(slices.Clone(n.kids), func(x *node) bool { return x.key == key })
	return &c
}

// hidden says whether the node is not worth printing: a context that was
// entered and left empty.
func (n *node) hidden() bool { return !n.empty && len(n.kids) == 0 }

// printed writes the node and what is below it, indented by step.
func (n *node) printed(out *[]string, indent, step string) {
	if n.hidden() {
		return
	}
	*out = append(*out, indent+n.line)
	for _, k := range n.kids {
		k.printed(out, indent+step, step)
	}
}

// outline is a line with the lines indented below it.
type outline struct {
	line string
	kids []*outline
}

// readOutline takes a configuration apart by its indentation. Comments,
// separators and empty lines are dropped.
func readOutline(text string) []*outline {
	type open struct {
		depth int
		at    *outline
	}
	root := &outline{}
	stack := []open{{-1, root}}
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, " \t\r\n")
		body := strings.TrimLeft(line, " ")
		if strings.HasPrefix(body, "#") { // Comware ends a section with it
			stack = stack[:1]
			continue
		}
		if body == "" || body[0] == '!' || line == "return" {
			continue
		}
		depth := len(line) - len(body)
		for stack[len(stack)-1].depth >= depth {
			stack = stack[:len(stack)-1]
		}
		o := &outline{line: body}
		up := stack[len(stack)-1].at
		up.kids = append(up.kids, o)
		stack = append(stack, open{depth, o})
	}
	return root.kids
}
