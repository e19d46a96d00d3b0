package language

import (
	"slices"
	"strconv"

	"weft/inventory/problem"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
)

// A repeat stands among the blocks within an object for those that a dynamic
// block makes, once it is known which.
type repeat struct {
	cell    *cell
	objects []*object
}

// dynamicSchema is that of dynamic "kind" for blocks of a schema.
func dynamicSchema(of *schema) *schema {
	content := *of
	content.label = ""
	a := attrs{"for_each": need(anything()), "iterator": expression()}
	if of.label != "" {
		a["labels"] = attr{takes: textList(), needed: true}
	}
	s := &schema{label: "type of block", attrs: a, blocks: blocks{"content": {schema: &content, needed: true}}}
	s.prepare()
	return s
}

// addDynamic checks a dynamic block.
func (e *evaluator) addDynamic(b *body, block *hclsyntax.Block, what string) {
	if !e.checkLabels(block, "type of block") {
		return
	}
	kind := block.Labels[0]
	spec, known := b.schema.blocks[kind]
	if !known {
		e.report(problem.New(problem.Block, block.LabelRanges[0], what+" has no block "+kind,
			"dynamic takes a block type that is supported here.%s", problem.DidYouMean(kind, sortedNames(b.schema.blocks))))
		return
	}
	d := e.newBody(dynamicSchema(spec.schema), block.Body, block.DefRange(), blockName("dynamic", kind))
	iterator := kind
	if a := d.attrs["iterator"]; a != nil {
		if iterator = hcl.ExprAsKeyword(a.Expr); iterator == "" {
			e.report(problem.New(problem.Expr, a.SrcRange, "not a name", "iterator is a name, without quotes, for the key and value in content: iterator = nic."))
			return
		}
	}
	i := slices.IndexFunc(d.blocks, func(c *bodyBlock) bool { return c.kind == "content" })
	if i < 0 || d.attrs["for_each"] == nil || spec.label != "" && d.attrs["labels"] == nil {
		return // reported
	}
	content := d.blocks[i]
	b.blocks = append(b.blocks, &bodyBlock{kind: kind, header: block.DefRange(), body: content.body, dynamic: d, iterator: iterator})
	b.dynamic = true
}

// newRepeat makes what stands for the blocks of a dynamic block in o.
func (e *evaluator) newRepeat(o *object, b *bodyBlock) *object {
	forEach := b.dynamic.attrs["for_each"]
	r := &repeat{}
	addr := o.addr + ".dynamic." + b.kind
	c := &object{kind: b.kind, addr: addr, header: &b.header, body: b.body, scope: o.scope, parent: o, in: o.in, repeat: r}
	r.cell = newCell(addr, forEach.SrcRange, b.dynamic.depth("for_each"), func() cty.Value {
		objects, ok := e.expandDynamic(o, b, forEach)
		if !ok {
			return cty.DynamicVal
		}
		r.objects = objects
		return cty.True
	})
	return c
}

func (e *evaluator) expandDynamic(o *object, b *bodyBlock, forEach *hclsyntax.Attribute) (objects []*object, ok bool) {
	v := e.repeatValue(forEach, o.scope)
	if !v.IsKnown() {
		return nil, false
	}
	ty := v.Type()
	switch {
	case v.IsNull() || !(ty.IsCollectionType() || ty.IsTupleType() || ty.IsObjectType()):
		e.report(problem.New(problem.Repeat, forEach.Expr.Range(), "for_each needs a list, a set or a map", "This is %s.", describe(v)))
		return nil, false
	case v.LengthInt() > maxInstances:
		e.report(problem.New(problem.TooLarge, forEach.Expr.Range(), "too many blocks", "A dynamic block creates at most %d blocks.", maxInstances))
		return nil, false
	}
	for it := v.ElementIterator(); it.Next(); {
		k, item := it.Element()
		if ty.IsSetType() {
			k = item
		}
		scope := o.scope.NewChild()
		scope.Variables = map[string]cty.Value{b.iterator: cty.ObjectVal(map[string]cty.Value{"key": k, "value": item})}
		label := ""
		if labels := b.dynamic.attrs["labels"]; labels != nil {
			if label, ok = e.dynamicLabel(o.body.schema.blocks[b.kind].schema, labels, scope); !ok {
				return nil, false
			}
		}
		e.seq++
		c := &object{
			kind: b.kind, name: label, label: label, seq: e.seq, addr: o.addr + "." + b.kind,
			header: &b.header, body: b.body, scope: scope, parent: o, in: o.in,
		}
		switch {
		case label != "":
			c.addr += labelStep(label)
		case o.body.schema.blocks[b.kind].many:
			c.addr += "[" + strconv.Itoa(len(objects)) + "]"
		}
		e.addChildren(c)
		if e.overfull(b.header) {
			return nil, false
		}
		objects = append(objects, c)
	}
	return objects, true
}

func (e *evaluator) dynamicLabel(s *schema, a *hclsyntax.Attribute, scope *hcl.EvalContext) (string, bool) {
	v := e.repeatValue(a, scope)
	if !v.IsKnown() {
		return "", false
	}
	v, d := textList().accept(v, a.Expr, false)
	if d == nil && (v.IsNull() || v.LengthInt() != 1 || v.Index(cty.Zero).IsNull()) {
		d = problem.New(problem.Labels, a.Expr.Range(), "not one label", "labels takes a list with one string, the label of the block.")
	}
	if d == nil {
		d = s.checkLabel(v.Index(cty.Zero).AsString(), a.Expr.Range())
	}
	if d != nil {
		e.report(problem.Within(d, a.SrcRange))
		return "", false
	}
	return v.Index(cty.Zero).AsString(), true
}

// labelStep is how an address names a block by its label.
func labelStep(label string) string {
	if isName(label) {
		return "." + label
	}
	return "[" + strconv.Quote(label) + "]"
}

// within returns all blocks within the object, those of dynamic blocks, too.
func (o *object) within() []*object {
	if !o.body.dynamic {
		return o.children
	}
	var list []*object
	for _, c := range o.children {
		list = append(list, c.made()...)
	}
	return list
}

// made is the object itself, or what it stands for.
func (o *object) made() []*object {
	if o.repeat == nil {
		return []*object{o}
	}
	o.in.e.get(o.repeat.cell)
	return o.repeat.objects
}

// checkDynamic looks at what can be wrong with the blocks in o only after
// dynamic blocks have made theirs. It reports whether all are known.
func (b *builder) checkDynamic(o *object) bool {
	if !o.body.dynamic {
		return true
	}
	known := true
	count := map[string]int{}
	seen := map[[2]string]hcl.Range{}
	for _, c := range o.children {
		if c.repeat != nil && !b.get(c.repeat.cell).IsKnown() {
			known = false
			count[c.kind]++ // nobody knows
		}
		for _, made := range c.made() {
			count[c.kind]++
			id := [2]string{made.kind, made.label}
			first, twice := seen[id]
			if twice && (made.label != "" || !o.body.schema.blocks[made.kind].many) {
				b.report(problem.New(problem.Twice, *made.header, "a second "+blockName(made.kind, made.label),
					"%s was already created in %s at %s.", blockName(made.kind, made.label), o.addr, problem.Where(first)))
			}
			seen[id] = *made.header
		}
	}
	for _, kind := range sortedNames(o.body.schema.blocks) {
		if o.body.schema.blocks[kind].needed && count[kind] == 0 {
			b.report(problem.New(problem.Missing, *o.header, o.addr+" lacks "+kind, "At least one block %s is required, and dynamic creates none.", kind))
		}
	}
	return known
}
