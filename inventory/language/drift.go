package language

import (
	"slices"
	"strings"

	"weft/inventory/problem"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// ignoreDrift reads ignore_drift: names of attributes and of blocks, those of
// nested blocks with dots, such as safety.save or traffic_class.rdma.dscp.
func (b *builder) ignoreDrift(o *object) []string {
	a := o.body.attrs["ignore_drift"]
	if a == nil {
		return nil
	}
	items, diags := hcl.ExprList(a.Expr)
	if diags.HasErrors() {
		b.report(problem.New(problem.Type, a.SrcRange, "not a list of attributes", "ignore_drift takes a list of names: [host, safety.save]."))
		return nil
	}
	var list []string
	for _, x := range items {
		path, d := driftPath(o.body.schema, x)
		switch {
		case d != nil:
			b.report(problem.Within(d, a.SrcRange))
		case slices.Contains(list, path):
			b.report(problem.Within(problem.New(problem.Twice, x.Range(), "duplicate name", "%s is already in the list.", path), a.SrcRange))
		default:
			list = append(list, path)
		}
	}
	return list
}

func driftPath(s *schema, x hcl.Expression) (string, *hcl.Diagnostic) {
	var steps []string
	if text, ok := plainText(x); ok {
		steps = strings.Split(text, ".")
	} else {
		t, diags := hcl.AbsTraversalForExpr(x)
		if diags.HasErrors() {
			return "", problem.New(problem.Type, x.Range(), "not an attribute name", "Write the name as in the block, with dots for nested blocks: safety.save.")
		}
		for _, step := range t {
			name := stepName(step)
			if index, ok := step.(hcl.TraverseIndex); ok {
				name = strings.Trim(indexText(index.Key), `["]`)
			}
			steps = append(steps, name)
		}
	}
	path := strings.Join(steps, ".")
	for len(steps) > 0 {
		name := steps[0]
		steps = steps[1:]
		if nested, ok := s.blocks[name]; ok {
			if nested.label != "" && len(steps) > 0 {
				steps = steps[1:]
			}
			s = nested.schema
			continue
		}
		if spec, ok := s.attrs[name]; !ok || !spec.written() || spec.secret || slices.Contains(metaWords(), name) {
			return "", problem.New(problem.Attribute, x.Range(), "no attribute "+name, "%s is not an attribute that can drift.%s", path, problem.DidYouMean(name, s.words()))
		}
		if len(steps) > 0 {
			return "", problem.New(problem.Attribute, x.Range(), "no attribute "+path, "%s is an attribute and has no nested names.", name)
		}
	}
	return path, nil
}

// metaWords are the attributes that say how a block is treated.
func metaWords() []string {
	return []string{"for_each", "count", "enabled", "depends_on", "protect", "ignore_drift"}
}

// keeps reports whether an attribute says what becomes of things on devices.
func keeps(attr string) bool { return attr == "protect" || attr == "ignore_drift" }

// keepsNothing refuses such an attribute where nothing is on devices.
func keepsNothing(a *hclsyntax.Attribute, what string) *hcl.Diagnostic {
	return problem.Within(problem.New(problem.Attribute, a.NameRange, what+" has no attribute "+a.Name,
		"%s applies only to blocks that change devices: a managed fabric, switch, server, link, pool, volume, target or initiator.",
		a.Name), a.SrcRange)
}

// untouched refuses attributes about what weft does to something that it does
// not touch.
func (b *builder) untouched(o *object) {
	for _, name := range []string{"protect", "ignore_drift"} {
		if a := o.body.attrs[name]; a != nil {
			b.report(keepsNothing(a, o.addr))
		}
	}
}
