package language

import (
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"weft/inventory/problem"
)

// lazy replaces the parts of an expression that look something up, such as
// server.node["st1"].host, by ones that ask the evaluator for just that when
// the expression is computed. HCL's own ones would need every value there is
// beforehand.
func (e *evaluator) lazy(x hclsyntax.Expression) hclsyntax.Expression {
	return (&rewriter{e, true}).expr(x)
}

// lazyTemplate does the same for a template, which sees its own variables only.
func (e *evaluator) lazyTemplate(x hclsyntax.Expression) hclsyntax.Expression {
	return (&rewriter{e, false}).expr(x)
}

type rewriter struct {
	e       *evaluator
	globals bool // var, local and blocks can be looked up
}

func (r *rewriter) expr(x hclsyntax.Expression) hclsyntax.Expression {
	switch x := x.(type) {
	case *hclsyntax.ScopeTraversalExpr:
		return &scopeExpr{x, r.e, r.globals}
	case *hclsyntax.RelativeTraversalExpr:
		x.Source = r.expr(x.Source)
		return &relativeExpr{x, r.e}
	case *hclsyntax.IndexExpr:
		x.Collection, x.Key = r.expr(x.Collection), r.expr(x.Key)
		return &indexExpr{x, r.e}
	case *hclsyntax.FunctionCallExpr:
		r.exprs(x.Args)
		for i, arg := range x.Args {
			if _, text := arg.(*hclsyntax.TemplateExpr); !text {
				x.Args[i] = &argExpr{arg, len(x.Args)}
			}
		}
		return &callExpr{x, r.e}
	case *hclsyntax.SplatExpr:
		x.Source, x.Each = r.expr(x.Source), r.expr(x.Each)
	case *hclsyntax.ForExpr:
		x.CollExpr, x.KeyExpr, x.ValExpr, x.CondExpr = r.expr(x.CollExpr), r.expr(x.KeyExpr), r.expr(x.ValExpr), r.expr(x.CondExpr)
		if x.KeyExpr != nil {
			x.KeyExpr = &itemExpr{x.KeyExpr, r.e}
		}
		x.ValExpr = &itemExpr{x.ValExpr, r.e}
		if x.CondExpr != nil {
			x.CondExpr = &turnExpr{x.CondExpr, r.e}
		}
		return &forExpr{x, r.e}
	case *hclsyntax.ConditionalExpr:
		x.Condition, x.TrueResult, x.FalseResult = r.expr(x.Condition), r.expr(x.TrueResult), r.expr(x.FalseResult)
	case *hclsyntax.BinaryOpExpr:
		x.LHS, x.RHS = r.expr(x.LHS), r.expr(x.RHS)
	case *hclsyntax.UnaryOpExpr:
		x.Val = r.expr(x.Val)
	case *hclsyntax.ParenthesesExpr:
		x.Expression = r.expr(x.Expression)
	case *hclsyntax.TupleConsExpr:
		r.exprs(x.Exprs)
	case *hclsyntax.ObjectConsExpr:
		for i := range x.Items {
			x.Items[i].KeyExpr, x.Items[i].ValueExpr = r.expr(x.Items[i].KeyExpr), r.expr(x.Items[i].ValueExpr)
		}
	case *hclsyntax.ObjectConsKeyExpr:
		// A bare word is a key as it stands; HCL looks at its form.
		if _, bare := x.Wrapped.(*hclsyntax.ScopeTraversalExpr); !bare || x.ForceNonLiteral {
			x.Wrapped = r.expr(x.Wrapped)
		}
	case *hclsyntax.TemplateExpr:
		r.exprs(x.Parts)
		for i, part := range x.Parts {
			if _, text := part.(*hclsyntax.LiteralValueExpr); !text {
				x.Parts[i] = &partExpr{part, r.e}
			}
		}
	case *hclsyntax.TemplateWrapExpr:
		x.Wrapped = r.expr(x.Wrapped)
	case *hclsyntax.TemplateJoinExpr:
		x.Tuple = r.expr(x.Tuple)
	}
	return x
}

func (r *rewriter) exprs(list []hclsyntax.Expression) {
	for i := range list {
		list[i] = r.expr(list[i])
	}
}

// scopeExpr looks up a name and takes steps from there: local.hosts.
type scopeExpr struct {
	*hclsyntax.ScopeTraversalExpr
	e       *evaluator
	globals bool
}

// Variables returns nothing: nothing must be known beforehand.
func (x *scopeExpr) Variables() []hcl.Traversal { return nil }

// Value looks the name up in the scope first, so that variables of a for
// expression hide blocks.
func (x *scopeExpr) Value(ctx *hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
	root := x.Traversal[0].(hcl.TraverseRoot)
	if v, ok := inScope(ctx, root.Name); ok {
		return x.e.steps(ctx, v, x.Traversal[1:])
	}
	if !x.globals {
		return cty.DynamicVal, hcl.Diagnostics{problem.New(problem.Reference, root.SrcRange, "no variable "+root.Name, "The template has no variable %s.", root.Name)}
	}
	v, rest, d := x.e.moduleOf(ctx).lookUp(x.Traversal)
	if d != nil {
		return cty.DynamicVal, hcl.Diagnostics{problem.Within(d, x.SrcRange)}
	}
	return x.e.steps(ctx, v, rest)
}

// relativeExpr takes steps from the result of an expression: f(x).host.
type relativeExpr struct {
	*hclsyntax.RelativeTraversalExpr
	e *evaluator
}

// Variables returns nothing: nothing must be known beforehand.
func (x *relativeExpr) Variables() []hcl.Traversal { return nil }

// Value computes the source, then takes the steps.
func (x *relativeExpr) Value(ctx *hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
	v, diags := x.Source.Value(ctx)
	if diags.HasErrors() {
		return cty.DynamicVal, diags
	}
	v, more := x.e.steps(ctx, v, x.Traversal)
	return v, append(diags, more...)
}

// indexExpr takes one step with a computed key: server.node[each.key].
type indexExpr struct {
	*hclsyntax.IndexExpr
	e *evaluator
}

// Variables returns nothing: nothing must be known beforehand.
func (x *indexExpr) Variables() []hcl.Traversal { return nil }

// Value computes the collection and the key, then takes the step.
func (x *indexExpr) Value(ctx *hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
	coll, diags := x.Collection.Value(ctx)
	key, more := x.Key.Value(ctx)
	if diags = append(diags, more...); diags.HasErrors() {
		return cty.DynamicVal, diags
	}
	v, more := x.e.index(coll, key, x.BracketRange)
	for _, d := range more {
		problem.Within(d, x.SrcRange)
	}
	return v, append(diags, more...)
}

// callExpr calls a function and keeps sensitive arguments out of what the
// function says about them.
type callExpr struct {
	*hclsyntax.FunctionCallExpr
	e *evaluator
}

// Value calls the function.
func (x *callExpr) Value(ctx *hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
	if isQuick(x.Name) && !x.ExpandFinal {
		if v, ok := x.quickly(ctx); ok {
			return v, nil
		}
	}
	if x.e.denies(x.Name) {
		x.e.deny(x.Range(), x.Name)
		return cty.DynamicVal, nil
	}
	v, diags := x.FunctionCallExpr.Value(ctx)
	if !diags.HasErrors() {
		return v, diags
	}
	x.e.escaped(diags)
	for _, arg := range x.Args {
		if usesSensitive(arg, ctx) {
			return cty.DynamicVal, hcl.Diagnostics{problem.New(problem.Expr, x.Range(), "error in a function call",
				"The arguments of %s() are invalid. They are sensitive, so details are hidden.", x.Name)}
		}
	}
	return v, diags
}

// quickly calls the function where that needs no look at everything in its
// arguments.
func (x *callExpr) quickly(ctx *hcl.EvalContext) (cty.Value, bool) {
	args := make([]cty.Value, len(x.Args))
	for i, arg := range x.Args {
		if wrapped, ok := arg.(*argExpr); ok {
			arg = wrapped.Expression
		}
		v, diags := arg.Value(ctx)
		if diags.HasErrors() {
			return cty.NilVal, false
		}
		args[i] = v
	}
	return quick(x.Name, args)
}

// forExpr builds a list or an object and keeps sensitive keys out of messages.
type forExpr struct {
	*hclsyntax.ForExpr
	e *evaluator
}

// Value builds the list or the object.
func (x *forExpr) Value(ctx *hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
	switch {
	case x.e.spent.over():
		return cty.DynamicVal, hcl.Diagnostics{x.e.overspent(x.ValExpr.Range())}
	case x.e.turns > maxTurns:
		return cty.DynamicVal, hcl.Diagnostics{x.e.dizzy(x.Range())}
	}
	v, diags := x.ForExpr.Value(ctx)
	if !diags.HasErrors() || x.KeyExpr == nil || !usesSensitive(x, ctx) {
		return v, diags
	}
	return cty.DynamicVal, hcl.Diagnostics{problem.New(problem.Expr, x.Range(), "error in a for expression",
		"The result is invalid, for example because two items have the same key. It uses sensitive values, so details are hidden.")}
}

// usesSensitive reports whether anything that an expression looks up is
// sensitive.
func usesSensitive(x hclsyntax.Node, ctx *hcl.EvalContext) bool {
	found := false
	_ = hclsyntax.VisitAll(x, func(n hclsyntax.Node) hcl.Diagnostics {
		if look, ok := bare(n).(*scopeExpr); ok && !found {
			v, _ := look.Value(ctx) // the variables of the for expression are not there: they come from its collection
			found = v.ContainsMarked()
		}
		return nil
	})
	return found
}

func inScope(ctx *hcl.EvalContext, name string) (cty.Value, bool) {
	for ; ctx != nil; ctx = ctx.Parent() {
		if v, ok := ctx.Variables[name]; ok {
			return v, true
		}
	}
	return cty.NilVal, false
}

// depthOf is how deep an expression nests.
func depthOf(x hclsyntax.Node) int {
	w := &depthWalker{}
	_ = hclsyntax.Walk(x, w) // the walker never fails
	return w.deepest
}

type depthWalker struct {
	now, deepest int
	exec         *hcl.Range // where exec is called
}

// Enter goes down.
func (w *depthWalker) Enter(n hclsyntax.Node) hcl.Diagnostics {
	w.now++
	w.deepest = max(w.deepest, w.now)
	name, at := called(n)
	switch name {
	case "templatefile":
		w.deepest = max(w.deepest, w.now+maxNesting) // what is in the file is not known yet
	case "exec":
		w.exec = &at
	}
	return nil
}

// called is the function that a node calls, if it does.
func called(n hclsyntax.Node) (name string, at hcl.Range) {
	switch n := bare(n).(type) {
	case *callExpr:
		return n.Name, n.NameRange
	case *hclsyntax.FunctionCallExpr:
		return n.Name, n.NameRange
	}
	return "", at
}

// Exit goes up.
func (w *depthWalker) Exit(hclsyntax.Node) hcl.Diagnostics {
	w.now--
	return nil
}
