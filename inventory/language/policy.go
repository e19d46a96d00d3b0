package language

import (
	"weft/internal/slice"
	"weft/inventory"
	"weft/inventory/problem"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
)

// A judged expression sees change and phase in addition to all that its files declare.
type judged struct {
	hcl.Expression
	scope *hcl.EvalContext
}

// Value computes the expression.
func (x *judged) Value(ctx *hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
	scope := x.scope.NewChild()
	scope.Variables = ctx.Variables
	return x.Expression.Value(scope)
}

// policies reads the rules for plans, and tries each out on a change of which only the
// form is known.
func (b *builder) policies(m *module) {
	for _, d := range m.policies {
		p := &inventory.Policy{Block: b.block(d.object), Name: d.name}
		for name, x := range map[string]*hcl.Expression{"when": &p.When, "condition": &p.Condition, "message": &p.Message} {
			if a := d.body.attrs[name]; a != nil {
				*x = &judged{b.lazy(a.Expr), m.scope}
			}
		}
		if p.Condition == nil || p.Message == nil {
			continue // it was reported
		}
		for _, x := range []hcl.Expression{p.When, p.Condition, p.Message} {
			if x != nil {
				b.spent = weight{}
				_, diags := x.Value(&hcl.EvalContext{Variables: map[string]cty.Value{"change": cty.UnknownVal(changeType()), "phase": cty.UnknownVal(phaseType())}})
				b.report(problem.Coded(problem.Expr, diags)...)
			}
		}
		b.m.Policies = append(b.m.Policies, p)
	}
}

func changeType() cty.Type {
	return cty.Object(map[string]cty.Type{
		"address": cty.String, "device": cty.String, "kind": cty.String, "name": cty.String, "impact": cty.String, "plane": cty.String,
		"prune": cty.Bool, "drift": cty.Bool, "reversible": cty.Bool,
		"before": cty.Map(cty.String), "after": cty.Map(cty.String),
	})
}

func phaseType() cty.Type {
	return cty.Object(map[string]cty.Type{"name": cty.String, "window": cty.String, "approve": cty.String, "soak": cty.String, "gates": cty.List(cty.String)})
}

// Judge computes an expression of a Policy for one change of a plan.
func (e *evaluator) Judge(x hcl.Expression, c inventory.PolicyChange) (cty.Value, hcl.Diagnostics) {
	e.afresh()
	text := cty.StringVal
	values := func(m map[string]string) cty.Value {
		if len(m) == 0 {
			return cty.MapValEmpty(cty.String)
		}
		all := make(map[string]cty.Value, len(m))
		for k, v := range m {
			all[k] = text(v)
		}
		return cty.MapVal(all)
	}
	gates := cty.ListValEmpty(cty.String)
	if len(c.Gates) > 0 {
		list := slice.Map(c.Gates, text)
		gates = cty.ListVal(list)
	}
	v, diags := x.Value(&hcl.EvalContext{Variables: map[string]cty.Value{
		"change": cty.ObjectVal(map[string]cty.Value{
			"address": text(c.Address), "device": text(c.Device), "kind": text(c.Kind), "name": text(c.Name), "impact": text(c.Impact), "plane": text(c.Plane),
			"prune": cty.BoolVal(c.Prune), "drift": cty.BoolVal(c.Drift), "reversible": cty.BoolVal(c.Reversible),
			"before": values(c.Before), "after": values(c.After),
		}),
		"phase": cty.ObjectVal(map[string]cty.Value{"name": text(c.Phase), "window": text(c.Window), "approve": text(c.Approve), "soak": text(c.Soak), "gates": gates}),
	}})
	return v, problem.Coded(problem.Expr, diags)
}
