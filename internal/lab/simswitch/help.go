package simswitch

import (
	"fmt"
	"strings"

	"weft/internal/slice"
)

// continuations are what may follow a line, each as a line of help. A last
// word without a space behind it is taken as a beginning.
func continuations(rules []*rule, line, number string) []string {
	toks := tokens(line)
	partial := ""
	if len(toks) > 0 && !strings.HasSuffix(line, " ") {
		partial = toks[len(toks)-1].text
		toks = toks[:len(toks)-1]
	}
	texts := slice.Map(toks, func(t token) string { return t.text })
	live := begun(rules, texts)
	for i := range toks {
		next, f := advance(live, texts, i)
		if f != nil {
			return nil
		}
		live = next
	}
	var all []string
	for _, t := range live {
		switch {
		case t.at != len(toks):
		case t.pos == len(t.v.elements):
			if partial == "" {
				all = append(all, "  <CR>\n")
			}
		default:
			all = append(all, t.v.elements[t.pos].help(partial, number, t.rule.tell)...)
		}
	}
	return all
}

// help is what a question mark says about the element. number stands before a range; tell is what the rule
// says about its parameters. number stands before a range.
func (e element) help(begun, number, tell string) []string {
	if e.param != nil {
		if begun != "" {
			return nil
		}
		kind := "WORD"
		if low, high := bounds(e.kind); high >= 0 {
			kind = fmt.Sprintf("%s<%d-%d>", number, low, high)
		}
		return []string{strings.TrimRight(fmt.Sprintf("  %s  %s", kind, tell), " ") + "\n"}
	}
	var all []string
	for _, w := range e.words {
		if strings.HasPrefix(w, strings.ToLower(begun)) {
			all = append(all, "  "+w+"\n")
		}
	}
	return all
}
