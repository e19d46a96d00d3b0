package language

import (
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"weft/inventory"
	"weft/inventory/problem"
)

// A builder turns evaluated objects into the model.
type builder struct {
	*evaluator
	m *inventory.Model

	servers []*object // that were made
}

// build makes all enabled instances in the order in which they refer to each
// other. What an attribute refers to is made before.
func (b *builder) build() {
	all := b.contents()
	for i, d := range all.decls {
		b.get(&d.instances)
		for _, o := range d.objects {
			o.order = i
		}
	}
	if b.full {
		return // of what is refused nothing is made
	}
	makers := map[string]func(*object){
		"connection": b.connection,
		"credential": b.credential,
		"fabric":     b.fabric,
		"switch":     b.leaf,
		"server":     b.server,
		"vcenter":    b.vcenter,
		"dvswitch":   b.dvswitch,
		"vm":         b.vm,
		"link":       b.link,
		"pool":       b.pool,
		"volume":     b.volume,
		"target":     b.target,
		"initiator":  b.initiator,
		"validation": b.validation,
		"rollout":    b.rollout,
		"site":       b.site,
	}
	byKind := map[string][]*decl{}
	for _, d := range all.decls {
		byKind[d.kind] = append(byKind[d.kind], d)
	}
	for _, kind := range referable() {
		for _, d := range byKind[kind] {
			for _, o := range d.objects {
				if b.enabled(o) {
					makers[kind](o)
				} else if kind == "switch" || kind == "server" || kind == "vcenter" {
					// What weft did to a device that is switched off is pruned.
					b.m.Removed = append(b.m.Removed, &inventory.Removed{Block: b.block(o), From: o.addr, Mode: "prune"})
				}
			}
		}
	}
	for _, m := range all.modules {
		if m.call != nil {
			b.block(m.call)
		}
		if m.call == nil || b.enabled(m.call) {
			b.outputs(m)
			b.checks(m)
			b.policies(m)
		}
	}
	b.removed(all)
	if slices.ContainsFunc(all.modules, func(m *module) bool { return len(m.moved) > 0 }) {
		b.moved(all)
	}
}

// enabled reports whether an object takes effect: it and everything that it
// cannot do without.
func (e *evaluator) enabled(o *object) bool {
	if o.state == stateUnknown {
		o.state = stateEnabled // for the time being: ends a cycle
		if !e.computeEnabled(o) {
			o.state = stateDisabled
		}
	}
	return o.state == stateEnabled
}

func (e *evaluator) computeEnabled(o *object) bool {
	if o.parent != nil && !e.enabled(o.parent) || o.in.call != nil && !e.enabled(o.in.call) {
		return false
	}
	if _, ok := o.body.schema.attrs["enabled"]; ok {
		if v := e.attr(o, "enabled"); v.IsKnown() && !v.IsNull() && v.False() {
			return false
		}
	}
	for _, name := range o.body.schema.depends {
		if needed := e.refOf(o, name); needed != nil && !e.enabled(needed) {
			return false
		}
	}
	return true
}

// refOf is the object that an attribute refers to, or nil.
func (e *evaluator) refOf(o *object, name string) *object {
	v := e.attr(o, name)
	if !v.IsKnown() || v.IsNull() {
		return nil
	}
	return v.EncapsulatedValue().(*object)
}

// block makes what every instance has. It computes all attributes, so that
// all problems are found.
func (b *builder) block(o *object) inventory.Block {
	block := inventory.Block{Addr: o.addr, Range: *o.header, Places: o.body, Incomplete: o.body.broken}
	if first := b.origin(o); first != o.addr {
		block.Former = first
	}
	s := o.body.schema
	for _, name := range s.evaluated {
		if !b.attr(o, name).IsKnown() {
			block.Incomplete = true
		}
	}
	if _, ok := s.attrs["depends_on"]; ok {
		block.DependsOn = b.dependsOn(o)
	}
	block.Protect = b.flag(o, "protect")
	block.IgnoreDrift = b.ignoreDrift(o)
	if !b.checkDynamic(o) {
		block.Incomplete = true
	}
	for _, c := range o.within() {
		if c.label == "" && !o.body.schema.blocks[c.kind].many && b.block(c).Incomplete {
			block.Incomplete = true
		}
	}
	return block
}

// dependsOn lists what an instance and the modules around it depend on. A
// module stands for everything in it.
func (b *builder) dependsOn(o *object) []string {
	var list []string
	var seen map[string]bool
	add := func(addr string) {
		if seen == nil {
			seen = map[string]bool{}
		}
		if !seen[addr] {
			seen[addr] = true
			list = append(list, addr)
		}
	}
	for ; o != nil; o = o.in.call {
		for _, on := range b.references(o, "depends_on") {
			if on.inside == nil {
				add(on.addr)
				continue
			}
			for _, d := range b.contentsOf(on.inside).decls {
				b.get(&d.instances)
				for _, r := range d.objects {
					if b.enabled(r) {
						add(r.addr)
					}
				}
			}
		}
	}
	return list
}

// references returns the enabled objects that an attribute refers to, each
// once.
func (b *builder) references(o *object, name string) []*object {
	v := b.attr(o, name)
	if !v.IsKnown() || v.IsNull() {
		return nil
	}
	all, _ := flatten(v)
	var list []*object
	seen := map[*object]bool{}
	for _, r := range all {
		if !seen[r] && b.enabled(r) {
			seen[r] = true
			list = append(list, r)
		}
	}
	return list
}

// keep has an object stand for a thing of the model.
func keep[T any](o *object, x *T, in *[]*T) {
	o.became = x
	*in = append(*in, x)
}

// one returns what the object became that an attribute refers to; nil where
// nothing is referred to or the object is disabled.
func one[T any](b *builder, o *object, name string) *T {
	r := b.refOf(o, name)
	if r == nil {
		return nil
	}
	made, _ := r.became.(*T)
	return made
}

// many returns what the objects became that an attribute refers to.
func many[T any](b *builder, o *object, name string) []*T {
	var list []*T
	for _, r := range b.references(o, name) {
		if made, ok := r.became.(*T); ok {
			list = append(list, made)
		}
	}
	return list
}

// set returns an attribute's value and whether it has one.
func (b *builder) set(o *object, name string) (cty.Value, bool) {
	if o == nil {
		return cty.NilVal, false
	}
	v, _ := b.attr(o, name).Unmark()
	return v, v.IsKnown() && !v.IsNull()
}

func (b *builder) text(o *object, name string) string {
	if v, ok := b.set(o, name); ok {
		return v.AsString()
	}
	return ""
}

func (b *builder) flag(o *object, name string) bool {
	if _, known := o.body.schema.attrs[name]; !known {
		return false
	}
	v, ok := b.set(o, name)
	return ok && v.True()
}

func (b *builder) integer(o *object, name string) int {
	v, ok := b.set(o, name)
	if !ok {
		return 0
	}
	n, _ := v.AsBigFloat().Int64()
	return int(n)
}

func (b *builder) integers(o *object, name string) []int {
	v, ok := b.set(o, name)
	if !ok {
		return nil
	}
	var list []int
	for _, item := range v.AsValueSlice() {
		n, _ := item.AsBigFloat().Int64()
		list = append(list, int(n))
	}
	return list
}

func (b *builder) texts(o *object, name string) []string {
	v, ok := b.set(o, name)
	if !ok {
		return nil
	}
	var list []string
	for _, item := range v.AsValueSlice() {
		if !item.IsNull() {
			list = append(list, item.AsString())
		}
	}
	return list
}

func (b *builder) textMap(o *object, name string) map[string]string {
	v, ok := b.set(o, name)
	if !ok {
		return nil
	}
	texts := map[string]string{}
	for key, item := range v.AsValueMap() {
		if !item.IsNull() {
			texts[key] = item.AsString()
		}
	}
	return texts
}

// unitOf reads a text whose syntax was checked with the attribute.
func unitOf[T any](b *builder, o *object, name string, parse func(string) (T, error)) T {
	var zero T
	v, ok := b.set(o, name)
	if !ok {
		return zero
	}
	t, err := parse(v.AsString())
	if err != nil {
		return zero
	}
	return t
}

// outputs makes those of the root and tries out those of modules.
func (b *builder) outputs(m *module) {
	for _, d := range m.outputs {
		out := &inventory.Output{Block: b.block(d.object), Name: d.name, Sensitive: b.flag(d.object, "sensitive")}
		if a := d.body.attrs["value"]; a != nil {
			out.Value = &bound{a.Expr, m.scope}
			v := b.tryOut(out.Value)
			if v.ContainsMarked() && !out.Sensitive {
				b.report(problem.Within(problem.New(problem.Shown, a.NameRange, "sensitive value would be shown",
					"output.%s uses a sensitive value: set sensitive = true.", d.name), a.NameRange))
			}
		}
		if m.call == nil {
			b.m.Outputs = append(b.m.Outputs, out)
		}
	}
}

func (b *builder) checks(m *module) {
	for _, d := range m.checks {
		check := &inventory.Check{Block: b.block(d.object), Name: d.name}
		for _, c := range d.body.blocks {
			condition, message := c.body.attrs["condition"], c.body.attrs["error_message"]
			if condition == nil || message == nil {
				continue
			}
			a := inventory.Assert{Condition: &bound{b.lazy(condition.Expr), m.scope}, ErrorMessage: &bound{b.lazy(message.Expr), m.scope}}
			b.tryOut(a.Condition)
			b.tryOut(a.ErrorMessage)
			check.Asserts = append(check.Asserts, a)
		}
		b.m.Checks = append(b.m.Checks, check)
	}
}

// tryOut evaluates an expression with observed values that are not known yet,
// to find what is wrong with its form.
func (b *builder) tryOut(x hcl.Expression) cty.Value {
	b.spent = weight{}
	v, diags := x.Value(b.withObserved(func(string, string) (cty.Value, error) { return cty.DynamicVal, nil }))
	b.report(problem.Coded(problem.Expr, diags)...)
	return v
}

// withObserved is a scope in which observed attributes have values.
func (e *evaluator) withObserved(o inventory.Observed) *hcl.EvalContext {
	return observing(e.root.scope, cty.CapsuleVal(observedType, &o))
}
