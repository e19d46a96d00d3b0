package language

import (
	"fmt"
	"math/big"
	"strconv"

	"weft/inventory/problem"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
)

// What a value may hold at most, and what may be made to compute it: a few
// lines can stand for more than any memory holds.
const (
	maxItems  = 1_000_000
	maxText   = 32 << 20   // bytes
	maxDigits = 1000       // of a number that is written out
	maxTurns  = 20_000_000 // of all loops together
)

// A weight is what values hold: all of it, as often as it stands there.
type weight struct{ items, text int }

func (w *weight) over() bool { return w.items > maxItems || w.text > maxText }

// add adds what a value holds. It stops where that is too much.
func (w *weight) add(v cty.Value) {
	v, _ = v.Unmark()
	w.items++
	ty := v.Type()
	switch {
	case w.over() || !v.IsKnown() || v.IsNull():
	case ty == cty.String:
		w.text += len(v.AsString())
	case ty == cty.Number:
		// A bit is about a third of a digit.
		if e := v.AsBigFloat().MantExp(nil); max(e, -e)/3 > maxDigits {
			w.text += maxText + 1
		}
	case ty.IsTupleType() || ty.IsObjectType() || ty.IsCollectionType():
		for it := v.ElementIterator(); !w.over() && it.Next(); {
			k, item := it.Element()
			if k.Type() == cty.String && !ty.IsSetType() {
				w.text += len(k.AsString())
			}
			w.add(item)
		}
	}
}

// tooHeavy reports whether a value is larger than its share, one of n.
func tooHeavy(v cty.Value, n int) bool {
	w := weight{}
	w.add(v)
	return w.over() || w.text > maxText/n
}

func heavy(at hcl.Range, summary string) *hcl.Diagnostic {
	return problem.New(problem.TooLarge, at, summary, "In total, it would contain more than %d items, more than %d MiB of text or a number of more than %d digits.",
		maxItems, maxText>>20, maxDigits)
}

// spend counts what a loop or a template makes for one cell, and refuses when
// that is too much.
func (e *evaluator) spend(v cty.Value, at hcl.Range) (cty.Value, hcl.Diagnostics) {
	if e.spent.add(v); e.spent.over() {
		return cty.DynamicVal, hcl.Diagnostics{e.overspent(at)}
	}
	return v, nil
}

// overspent is one problem, however often a loop meets it.
func (e *evaluator) overspent(at hcl.Range) *hcl.Diagnostic {
	if e.tooMuch == nil || *e.tooMuch.Subject != at {
		e.tooMuch = heavy(at, "value too large")
	}
	return e.tooMuch
}

// itemExpr is the key or the value of each item of a for expression.
type itemExpr struct {
	hclsyntax.Expression
	e *evaluator
}

// Value computes the key or the value of one item.
func (x *itemExpr) Value(ctx *hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
	if x.e.turns++; x.e.turns > maxTurns {
		return cty.DynamicVal, hcl.Diagnostics{x.e.dizzy(x.Range())}
	}
	v, diags := x.Expression.Value(ctx)
	if diags.HasErrors() {
		return v, diags
	}
	return x.e.spend(v, x.Range())
}

// afresh counts from nothing: what follows is asked for by itself.
func (e *evaluator) afresh() { e.spent, e.turns, e.dizzied, e.tooMuch = weight{}, 0, nil, nil }

// turnExpr is the condition of a for expression.
type turnExpr struct {
	hclsyntax.Expression
	e *evaluator
}

// Value decides about one item.
func (x *turnExpr) Value(ctx *hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
	if x.e.turns++; x.e.turns > maxTurns {
		return cty.DynamicVal, hcl.Diagnostics{x.e.dizzy(x.Range())}
	}
	return x.Expression.Value(ctx)
}

// dizzy is one problem for all loops: the first that turned too often may be
// as innocent as any.
func (e *evaluator) dizzy(at hcl.Range) *hcl.Diagnostic {
	if e.dizzied == nil {
		e.dizzied = problem.New(problem.TooLarge, at, "too many loop iterations",
			"All loops of the inventory together exceed %d iterations. "+
				"x }, and take [each.key] of it. => A common cause is a loop over a whole list in each of many instances: build a map in a local once, { for x in … : x.name => x }, and use [each.key] of it. => x }, and take [each.key] of it.", maxTurns)
	}
	return e.dizzied
}

// partExpr is what a template has in ${ }. It writes whole numbers out: HCL
// takes many microseconds for each, as it looks for the shortest text of 512
// bits.
type partExpr struct {
	hclsyntax.Expression
	e *evaluator
}

// Value computes the part.
func (x *partExpr) Value(ctx *hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
	v, diags := x.Expression.Value(ctx)
	if diags.HasErrors() {
		return v, diags
	}
	if v.Type() == cty.Number && !v.IsMarked() && v.IsKnown() && !v.IsNull() {
		if n, exact := v.AsBigFloat().Int64(); exact == big.Exact {
			v = cty.StringVal(strconv.FormatInt(n, 10))
		}
	}
	return x.e.spend(v, x.Range())
}

// tooLong is the error of a function whose result would be too long.
func tooLong() error {
	return fmt.Errorf("the result would have more than %d MiB of text or %d items", maxText>>20, maxItems)
}
