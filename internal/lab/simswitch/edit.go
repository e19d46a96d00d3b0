package simswitch

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// An edit is one accepted configuration line and where it was typed.
type edit struct {
	at place
	m  match
}

// errGone is what an edit finds when its context was deleted meanwhile.
var errGone = errors.New("the object being edited does not exist any more")

// apply makes an edit. The switch judges the result as a whole: a refused edit
// changes nothing.
func (sw *Switch) apply(root *node, e edit) (*node, error) {
	if sw.refuse != nil && sw.refuse.MatchString(e.m.line) {
		return nil, errors.New("refused by the lab, as it was told to")
	}
	parent := root.get(e.at)
	if parent == nil {
		return nil, errGone
	}
	next := root
	if e.m.undo {
		found := false
		for _, k := range parent.kids {
			if !e.m.removes(k) {
				continue
			}
			_, given, _ := strings.Cut(e.m.line, " ")
			if e.m.rule.exact && !within(given, k.line) {
				return nil, fmt.Errorf("%s is configured, not %s", k.line, given)
			}
			found = true
			next = next.without(e.at, k.key)
		}
		if !found && e.m.rule.named {
			return nil, fmt.Errorf("%s: there is no such thing", e.m.line)
		}
	} else {
		for _, s := range e.m.settings(sw) {
			if s.line == "" || s.line == e.m.expand(e.m.rule.hide) {
				next = next.without(e.at, s.key)
				continue
			}
			next = next.with(e.at, &node{
				key: s.key, line: s.line, at: e.m.rule.at, empty: !e.m.rule.quiet, view: e.m.rule.enter != "",
			})
		}
	}
	if err := sw.system.check(sw, root, next, e); err != nil {
		return nil, err
	}
	return next, nil
}

// within says whether the words of short stand in long, in the same order.
func within(short, long string) bool {
	words := strings.Fields(long)
	for _, w := range strings.Fields(short) {
		i := slices.Index(words, w)
		if i < 0 {
			return false
		}
		words = words[i+1:]
	}
	return true
}

// load reads a whole configuration text. What the grammar does not know is
// kept as it stands: a switch carries more than anybody here configures. It
// keeps its place where the running configuration has it too.
func (sw *Switch) load(text string) *node {
	root := &node{empty: true}
	known := sw.running
	if known == nil {
		known = root
	}
	root.kids = sw.loadLines(readOutline(text), sw.system.top, known)
	return root
}

func (sw *Switch) loadLines(lines []*outline, view string, known *node) []*node {
	top := &node{}
	last := 0
	for _, o := range lines {
		if mark, ok := strings.CutPrefix(o.line, "@"); ok { // in our own texts: where the next lines stand
			last, _ = strconv.Atoi(mark)
			continue
		}
		n := &node{key: o.line, line: o.line, at: last, empty: true}
		inner := ""
		if k := known.kid(o.line); k != nil {
			n.at = k.at
		}
		if m, f := parse(sw.dialect.view[view], o.line); f == nil && m.rule.run == nil && !m.undo {
			set := m.settings(sw)[0]
			n.key, n.line, n.at, n.empty = set.key, set.line, m.rule.at, !m.rule.quiet
			inner = m.rule.enter
		}
		last = max(last, n.at)
		below := known.kid(n.key)
		if below == nil {
			below = &node{}
		}
		n.kids = sw.loadLines(o.kids, inner, below)
		n.view = inner != "" || len(n.kids) > 0
		top = top.with(nil, n)
	}
	return top.kids
}
