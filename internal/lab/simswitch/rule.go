package simswitch

import "strings"

import "weft/internal/slice"

// A Rule is one pattern of lines that a simulated switch accepts. Lines that
// no rule covers are refused as the device would refuse them.
type Rule struct {
	View   string // where it is typed
	Line   string // pattern, see the comment in pattern.go
	Undo   string // patterns of the negative form, separated by ";"; may be empty
	Source string // what it rests on; what begins with SYNTHETIC was never seen on a device

	key   string // template of what the line is about; empty: its leading keywords
	store string // template of what is stored; empty: the line itself
	enter string // view that it opens
	at    int    // where it stands among its siblings when printed
	hide  string // template of the default, which is not printed
	quiet bool   // the context is not printed while it is empty
	needs string // feature without which the line does not exist
	exact bool   // the negative form must name what is there
	tell  string // what a question mark says about its parameters
	named bool   // the negative form of what is not there is an error

	// many gives the settings of a line that stands for several, or whose
	// stored form depends on the switch.
	many func(*Switch, match) []setting
	// forget says which lines the negative form removes, where the key does not.
	forget func(match, *node) bool
	// run is what a command does that is no configuration.
	run func(*session, match)
}

// A setting is a line as stored; an empty line is a default, which is not.
type setting struct{ key, line string }

// A rule is a Rule made ready for matching.
type rule struct {
	Rule
	set, unset []variant
}

// A dialect is the grammar of one OS, shared by all switches that speak it.
type dialect struct {
	negation string // the word that negative forms begin with
	rules    []*rule
	view     map[string][]*rule
}

// newDialect compiles a table. negation is the word that negative forms begin
// with.
func newDialect(table []Rule, negation string, ports portNames) *dialect {
	d := &dialect{negation: negation, view: make(map[string][]*rule)}
	for _, r := range table {
		c := &rule{Rule: r, set: compile(r.Line, ports)}
		if c.key == "" {
			c.key = leading(c.set[0])
		}
		for undo := range strings.SplitSeq(r.Undo, ";") {
			if undo = strings.TrimSpace(undo); undo != "" {
				c.unset = append(c.unset, compile(negation+" "+undo, ports)...)
			}
		}
		d.rules = append(d.rules, c)
		for view := range strings.SplitSeq(r.View, " ") {
			d.view[view] = append(d.view[view], c)
		}
	}
	return d
}

// leading is what a pattern's keywords before its first variable part say.
func leading(v variant) string {
	var words []string
	for _, e := range v.elements {
		if e.param != nil || len(e.words) > 1 || e.option != "" {
			break
		}
		words = append(words, e.words[0])
	}
	return strings.Join(words, " ")
}

// settings are the lines that m stores.
func (m match) settings(sw *Switch) []setting {
	if m.rule.many != nil {
		return m.rule.many(sw, m)
	}
	line := m.line
	if m.rule.store != "" {
		line = m.expand(m.rule.store)
	}
	return []setting{{m.expand(m.rule.key), line}}
}

// removes says whether the negative line m removes k.
func (m match) removes(k *node) bool {
	if m.rule.forget != nil {
		return m.rule.forget(m, k)
	}
	return k.key == m.expand(m.rule.key)
}

// Grammar lists what a simulated switch with this OS accepts and what each
// line rests on, then, with the View "refusal", what it says about lines that
// are not possible; nil for an unknown OS.
func Grammar(os string) []Rule {
	sys := systemOf(os)
	if sys == nil {
		return nil
	}
	all := slice.Map(sys.dialect().rules, func(r *rule) Rule { return r.Rule })
	return append(all, sys.refusals()...)
}
