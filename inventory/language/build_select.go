package language

import (
	"maps"
	"slices"
	"strings"

	"weft/internal/selector"
	"weft/internal/slice"
	"weft/inventory"
	"weft/inventory/problem"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
)

// selects resolves what a phase selects: references, servers by a label, or
// all that remains.
func (b *builder) selects(o *object, p *inventory.Phase) {
	var incomplete bool
	p.Select, incomplete = b.selected(o, func(word string) bool {
		p.Remaining = p.Remaining || word == "remaining"
		return word == "remaining"
	})
	p.Incomplete = p.Incomplete || incomplete
}

// selected are the addresses of what select refers to, in the order of the model.
// special takes words that are no labels.
func (b *builder) selected(o *object, special func(string) bool) (addrs []string, incomplete bool) {
	v, ok := b.set(o, "select")
	if !ok {
		return nil, false
	}
	selected := b.references(o, "select")
	seen := map[*object]bool{}
	for _, s := range selected {
		seen[s] = true
	}
	_, words := flatten(v)
	for _, w := range words {
		if special(w.AsString()) {
			continue
		}
		found, d := b.selectWord(w.AsString(), o.body.attrs["select"].Expr.Range())
		if d != nil {
			b.report(problem.Within(d, o.body.attrs["select"].SrcRange))
			incomplete = true
		}
		for _, s := range found {
			if !seen[s] {
				seen[s] = true
				selected = append(selected, s)
			}
		}
	}
	sortObjects(selected)
	addrs = slice.Map(selected, func(s *object) string { return s.addr })
	return addrs, incomplete
}

func (b *builder) selectWord(word string, at hcl.Range) ([]*object, *hcl.Diagnostic) {
	key, pattern, err := selector.Label(word)
	switch {
	case !strings.HasPrefix(word, "@"):
		return nil, problem.New(problem.Value, at, "invalid selection",
			`select takes references such as switch.leaf-a, labels such as "@role=storage", or, in a phase, "remaining"; %q is neither.`, word)
	case err != nil:
		return nil, problem.New(problem.Value, at, "invalid label",
			`%q does not have the form "@KEY=VALUE". In VALUE, * matches any characters and ? matches one.`, word)
	}
	var found []*object
	values := map[string]bool{}
	for _, s := range b.servers {
		label, ok := s.became.(*inventory.Server).Labels[key]
		if !ok {
			continue
		}
		values[label] = true
		if selector.MatchesLabel(pattern, label) {
			found = append(found, s)
		}
	}
	if len(found) > 0 || slices.ContainsFunc(b.servers, func(s *object) bool { return !b.attr(s, "labels").IsKnown() }) {
		return found, nil
	}
	return nil, problem.New(problem.Select, at, "empty selection", "No server has a label %s with the value %s.%s", key, pattern,
		b.didYouMean(pattern, maps.Keys(values)))
}

// limitOf is the limit of a metric: a number, a duration, or an expression
// that uses observed values.
func (b *builder) limitOf(o *object, m *inventory.Metric) {
	a := o.body.attrs["max"]
	if a != nil && b.usesObserved(a.Expr, o.scope) {
		m.HasMax, m.Limit = true, &bound{a.Expr, o.scope}
		m.LimitType = b.tryOut(m.Limit).Type()
		return
	}
	v, ok := b.set(o, "max")
	if !ok {
		return
	}
	m.HasMax = true
	if v.Type() == cty.String {
		m.Duration = true
		m.Max = float64(unitOf(b, o, "max", parseDuration))
	} else {
		m.Max, _ = v.AsBigFloat().Float64()
	}
}

// usesObserved reports whether computing an expression takes what only devices
// know.
func (e *evaluator) usesObserved(x hcl.Expression, scope *hcl.EvalContext) bool {
	used := false
	hook := inventory.Observed(func(string, string) (cty.Value, error) {
		used = true
		return cty.DynamicVal, nil
	})
	_, _ = x.Value(observing(scope, cty.CapsuleVal(observedType, &hook))) // what is wrong is reported elsewhere
	return used
}
