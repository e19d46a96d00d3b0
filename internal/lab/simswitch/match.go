package simswitch

import (
	"maps"
	"slices"
	"strings"

	"weft/internal/slice"
)

// A match is a line that the grammar accepted.
type match struct {
	rule *rule
	undo bool              // typed in its negative form
	line string            // keywords in full, parameters as the device writes them
	args map[string]string // captures by name
}

// expand fills the captures into a template such as "class $name".
func (m match) expand(template string) string {
	if !strings.Contains(template, "$") {
		return template
	}
	words := strings.Fields(template)
	for i, w := range words {
		if name, ok := strings.CutPrefix(w, "$"); ok {
			words[i] = m.args[name]
		}
	}
	return strings.Join(strings.Fields(strings.Join(words, " ")), " ")
}

// A fault says why a line was not accepted.
type fault struct {
	kind faultKind
	at   int // byte of the line at which the marker stands
	word int // number of the word; which of several faults is the best to tell
}

type faultKind int

const (
	unrecognized faultKind = iota + 1 // no such keyword
	wrong                             // not a value for this parameter
	tooMany                           // complete before the end of the line
	incomplete                        // something is missing
	ambiguous                         // a keyword was shortened too much
)

// A thread is one reading of the line so far.
type thread struct {
	rule  *rule
	undo  bool
	v     variant
	pos   int // next element
	at    int // next token
	words int // keywords matched
	canon []string
	args  map[string]string
}

func (t *thread) step(canon string, n int, keyword bool) *thread {
	next := *t
	next.pos++
	next.at += n
	if keyword {
		next.words++
	}
	next.canon = append(slices.Clone(t.canon), canon)
	e := t.v.elements[t.pos]
	if e.name == "" && e.option == "" {
		return &next
	}
	next.args = make(map[string]string, len(t.args)+1)
	maps.Copy(next.args, t.args)
	if e.name != "" {
		next.args[e.name] = canon
	}
	if e.option != "" {
		next.args[e.option] = strings.TrimSpace(next.args[e.option] + " " + canon)
	}
	return &next
}

// A token is a word of a line and where it begins.
type token struct {
	text string
	at   int
}

func tokens(line string) []token {
	var all []token
	for i := 0; i < len(line); {
		if line[i] == ' ' || line[i] == '\t' {
			i++
			continue
		}
		end := i
		for end < len(line) && line[end] != ' ' && line[end] != '\t' {
			end++
		}
		all = append(all, token{line[i:end], i})
		i = end
	}
	return all
}

// parse reads a line by the rules of one view.
func parse(rules []*rule, line string) (match, *fault) {
	toks := tokens(line)
	texts := slice.Map(toks, func(t token) string { return t.text })
	live := begun(rules, texts)
	for i := range toks {
		next, f := advance(live, texts, i)
		if f != nil {
			f.at, f.word = toks[i].at, i
			return match{}, f
		}
		live = next
	}
	return accepted(live, len(toks), len(line))
}

// begun are the readings that the first word allows; all, without a word.
func begun(rules []*rule, texts []string) []*thread {
	var live []*thread
	start := func(r *rule, variants []variant, undo bool) {
		for _, v := range variants {
			if len(texts) == 0 || v.elements[0].mayBe(texts[0]) {
				live = append(live, &thread{rule: r, v: v, undo: undo})
			}
		}
	}
	for _, r := range rules {
		start(r, r.set, false)
		start(r, r.unset, true)
	}
	return live
}

// mayBe says whether a word could be this keyword, in full or shortened.
func (e element) mayBe(word string) bool {
	if e.param != nil {
		return true
	}
	return slices.ContainsFunc(e.words, func(w string) bool { return len(word) <= len(w) && strings.EqualFold(w[:len(word)], word) })
}

// advance moves every thread that stands at token i past it.
func advance(live []*thread, texts []string, i int) ([]*thread, *fault) {
	var exact, short, params, later []*thread
	shortened := map[string]bool{}
	wanted := unrecognized
	ended := i > 0
	for _, t := range live {
		switch {
		case t.at > i:
			later = append(later, t)
			continue
		case t.pos == len(t.v.elements):
			continue // complete, but the line goes on
		}
		ended = false
		e := t.v.elements[t.pos]
		if e.param != nil {
			if canon, n := e.param(texts[i:]); n > 0 {
				params = append(params, t.step(canon, n, false))
			} else {
				wanted = wrong
			}
			continue
		}
		for _, w := range e.words {
			switch {
			case strings.EqualFold(w, texts[i]):
				exact = append(exact, t.step(w, 1, true))
			case len(texts[i]) < len(w) && strings.EqualFold(w[:len(texts[i])], texts[i]):
				short = append(short, t.step(w, 1, true))
				shortened[w] = true
			}
		}
	}
	next := append(later, params...)
	switch {
	case len(exact) > 0:
		next = append(next, exact...)
	case len(shortened) == 1:
		next = append(next, short...)
	case len(shortened) > 1 && len(next) == 0:
		return nil, &fault{kind: ambiguous}
	}
	if len(next) == 0 {
		if ended {
			wanted = tooMany
		}
		return nil, &fault{kind: wanted}
	}
	return next, nil
}

// accepted picks the reading with the most keywords among the complete ones.
func accepted(live []*thread, words, end int) (match, *fault) {
	var best *thread
	for _, t := range live {
		if t.pos == len(t.v.elements) && (best == nil || t.words > best.words) {
			best = t
		}
	}
	if best == nil {
		return match{}, &fault{kind: incomplete, at: end, word: words}
	}
	return match{rule: best.rule, undo: best.undo, line: strings.Join(best.canon, " "), args: best.args}, nil
}
