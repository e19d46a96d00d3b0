package language

import (
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"weft/inventory/problem"
)

// argExpr is an argument of a function. Functions that take a list make one of
// a tuple in a time that grows with the square of its length, so a long one is
// made a list before.
type argExpr struct {
	hclsyntax.Expression
	of int // arguments
}

const (
	longTuple = 200
	maxTuple  = 5000 // of items of different types
)

// bare is the expression that an argument, a part of a template or a part of
// a for expression consists of, or the node itself.
func bare(n hclsyntax.Node) hclsyntax.Node {
	switch n := n.(type) {
	case *argExpr:
		return n.Expression
	case *partExpr:
		return n.Expression
	case *itemExpr:
		return n.Expression
	case *turnExpr:
		return n.Expression
	}
	return n
}

// Variables returns nothing: nothing must be known beforehand.
func (x *argExpr) Variables() []hcl.Traversal { return nil }

// Value computes the argument.
func (x *argExpr) Value(ctx *hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
	v, diags := x.Expression.Value(ctx)
	if diags.HasErrors() || !v.IsKnown() || v.IsNull() {
		return v, diags
	}
	if tooHeavy(v, x.of) {
		return cty.DynamicVal, hcl.Diagnostics{heavy(x.Range(), "argument too large")}
	}
	plain, marks := v.Unmark()
	ty := plain.Type()
	if !(ty.IsTupleType() || ty.IsObjectType() || ty.IsCollectionType()) || plain.LengthInt() <= longTuple {
		return v, diags
	}
	fixed := ty.IsTupleType() || ty.IsObjectType()
	same := fixed && uniform(plain)
	switch n := plain.LengthInt(); {
	case n > maxInstances:
		return cty.DynamicVal, hcl.Diagnostics{problem.New(problem.TooLarge, x.Range(), "argument too long", "It has more than %d items.", maxInstances)}
	case fixed && !same && n > maxTuple:
		return cty.DynamicVal, hcl.Diagnostics{problem.New(problem.TooLarge, x.Range(), "argument too long", "It has more than %d items of different types.", maxTuple)}
	case same && ty.IsTupleType():
		return cty.ListVal(plain.AsValueSlice()).WithMarks(marks), diags
	case same:
		return cty.MapVal(plain.AsValueMap()).WithMarks(marks), diags
	}
	return v, diags
}

// uniform reports whether all items of a tuple or an object have one type.
func uniform(v cty.Value) bool {
	var first cty.Type
	for it := v.ElementIterator(); it.Next(); {
		_, item := it.Element()
		if first == cty.NilType {
			first = item.Type()
		}
		if first == cty.DynamicPseudoType || !first.Equals(item.Type()) {
			return false
		}
	}
	return true
}
