package language

import (
	"errors"
	"slices"

	"weft/inventory/problem"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
)

// acceptRefs checks that a value consists of references of the right types.
func (t valueType) acceptRefs(v cty.Value, x hcl.Expression) (cty.Value, *hcl.Diagnostic) {
	objects, rest := flatten(v)
	for _, o := range objects {
		if !slices.Contains(t.refs, o.kind) {
			return v, problem.New(problem.Type, x.Range(), "wrong reference", "%s is required, but %s is a %s.", t.name, o.addr, o.kind)
		}
	}
	for _, r := range rest {
		if !t.texts || r.IsNull() || r.Type() != cty.String {
			return v, problem.New(problem.Type, x.Range(), "not a reference", "%s is required, without quotes, but this is %s.", t.name, describe(r))
		}
	}
	if !t.many && (len(objects) != 1 || v.Type() != refType) {
		return v, problem.New(problem.Type, x.Range(), "not a single reference", "%s is required, but this is %s.", t.name, describeRefs(v, objects))
	}
	return v, nil
}

func describeRefs(v cty.Value, objects []*object) string {
	if len(objects) > 0 && v.Type().IsMapType() {
		o := objects[0]
		return "all instances of " + o.kind + "." + o.label + "; choose one, as in " + o.addr
	}
	return describe(v)
}

// flatten returns the references in a value in their order, and everything in
// it that is none. All instances of a block are a map or a list of references.
func flatten(v cty.Value) (objects []*object, rest []cty.Value) {
	ty := v.Type()
	switch {
	case ty == refType && !v.IsNull():
		return []*object{v.EncapsulatedValue().(*object)}, nil
	case ty.IsTupleType() || ty.IsListType() || ty.IsSetType() || ty.IsMapType() || ty.IsObjectType():
		if v.IsNull() {
			return nil, []cty.Value{v}
		}
		for it := v.ElementIterator(); it.Next(); {
			_, item := it.Element()
			o, r := flatten(item)
			objects, rest = append(objects, o...), append(rest, r...)
		}
		return objects, rest
	}
	return nil, []cty.Value{v}
}

// errorRange is where in an expression the error lies: at the very character
// when the expression is a plain text and the error knows its place.
func errorRange(x hcl.Expression, err error) hcl.Range {
	rng := x.Range()
	var u *unitError
	text, plain := plainText(x)
	if !errors.As(err, &u) || !plain || u.offset > len(text) || rng.Start.Line != rng.End.Line || rng.End.Byte-rng.Start.Byte != len(text)+2 {
		return rng
	}
	// Inside the quotes; a text without escapes is as long as its source.
	start := rng.Start
	start.Byte += 1 + u.offset
	start.Column += 1 + len([]rune(text[:u.offset]))
	end := rng.End
	end.Byte, end.Column = end.Byte-1, end.Column-1
	if start.Byte >= end.Byte {
		return rng
	}
	return hcl.Range{Filename: rng.Filename, Start: start, End: end}
}

// plainText returns the text of an expression that is nothing but a text in
// quotes.
func plainText(x hcl.Expression) (string, bool) {
	t, ok := x.(*hclsyntax.TemplateExpr)
	if !ok || !t.IsStringLiteral() {
		return "", false
	}
	v, diags := t.Value(nil)
	if diags.HasErrors() || v.Type() != cty.String {
		return "", false
	}
	return v.AsString(), true
}
