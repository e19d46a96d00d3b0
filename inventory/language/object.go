package language

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"weft/internal/slice"
	"weft/inventory/problem"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
)

// An object is one instance of a block, or a block within one. As a value it
// is a reference, whose attributes are computed when they are asked for.
type object struct {
	kind   string
	name   string // label and key: node["st1"]
	label  string
	key    string // of for_each or count; "" without
	addr   string
	order  int        // of the declaration of its block
	seq    int        // orders the instances of a block
	header *hcl.Range // shared by all instances
	body   *body
	scope  *hcl.EvalContext
	parent *object
	in     *module // that declares it
	inside *module // of a module block
	cells  []cell  // of the written attributes and of the derived ones

	children []*object
	repeat   *repeat              // of what stands for the blocks of a dynamic one
	values   map[string]cty.Value // children by kind, as values
	ports    *ports               // of a switch: those that were referred to
	state    objectState
	became   any // what it became in the model: *Server, *RNIC …
}

// ports are those of a switch, as far as something speaks of them.
type ports struct {
	any   cty.Value          // what stands for all of them
	named map[string]*object // by name
}

// objectState says whether an object takes effect.
type objectState uint8

const (
	stateUnknown objectState = iota
	stateEnabled
	stateDisabled
)

// refType is the type of references. They are compared by identity.
var refType = cty.Capsule("reference", reflect.TypeFor[object]())

func (o *object) ref() cty.Value { return cty.CapsuleVal(refType, o) }

// maxInstances bounds one block's for_each or count.
const maxInstances = 100_000

// expand makes the instances of a block.
func (e *evaluator) expand(d *decl) cty.Value {
	forEach, count := d.body.attrs["for_each"], d.body.attrs["count"]
	switch {
	case forEach != nil && count != nil:
		e.report(problem.New(problem.Repeat, count.SrcRange, "for_each and count", "A block takes only one of the two."))
		return cty.DynamicVal
	case forEach != nil:
		return e.expandEach(d, forEach)
	case count != nil:
		return e.expandCount(d, count)
	case d.body.meant["for_each"] || d.body.meant["count"]:
		return cty.DynamicVal // how many instances there are is not known
	}
	o := e.newObject(d, d.name, "", d.in.scope)
	if o == nil {
		return cty.DynamicVal
	}
	return o.ref()
}

func (e *evaluator) expandEach(d *decl, a *hclsyntax.Attribute) cty.Value {
	v := e.repeatValue(a, d.in.scope)
	if !v.IsKnown() {
		return v
	}
	ty := v.Type()
	set := ty.IsSetType() && ty.ElementType() == cty.String
	switch {
	case v.IsNull() || !(set || ty.IsMapType() || ty.IsObjectType()):
		hint := ""
		if ty.IsTupleType() || ty.IsListType() || ty.IsSetType() {
			hint = " toset() converts a list of strings to a set."
		}
		e.report(problem.New(problem.Repeat, a.Expr.Range(), "for_each needs a map or a set of strings", "This is %s.%s", describe(v), hint))
		return cty.DynamicVal
	case v.LengthInt() > maxInstances:
		e.report(problem.New(problem.TooLarge, a.Expr.Range(), "too many instances", "A block has at most %d instances.", maxInstances))
		return cty.DynamicVal
	}
	instances := map[string]cty.Value{}
	for it := v.ElementIterator(); it.Next(); {
		k, item := it.Element()
		if set {
			k = item
		}
		if k.IsNull() || !goodKey(k.AsString()) {
			e.report(problem.New(problem.Repeat, a.Expr.Range(), "invalid key",
				"A key of for_each must not be empty, and may contain only printable characters other than quotes and backslashes."))
			return cty.DynamicVal
		}
		scope := d.in.scope.NewChild()
		scope.Variables = map[string]cty.Value{"each": cty.ObjectVal(map[string]cty.Value{"key": k, "value": item})}
		o := e.newObject(d, d.name+"["+strconv.Quote(k.AsString())+"]", k.AsString(), scope)
		if o == nil {
			return cty.DynamicVal
		}
		instances[o.key] = o.ref()
	}
	if len(instances) == 0 {
		return cty.MapValEmpty(refType)
	}
	return cty.MapVal(instances)
}

func (e *evaluator) expandCount(d *decl, a *hclsyntax.Attribute) cty.Value {
	v := e.repeatValue(a, d.in.scope)
	if !v.IsKnown() {
		return v
	}
	v, diag := integer(0, maxInstances).accept(v, a.Expr, false)
	if diag != nil || v.IsNull() {
		e.report(problem.New(problem.Repeat, a.Expr.Range(), "count needs a whole number", "It must be between 0 and %d.", maxInstances))
		return cty.DynamicVal
	}
	n, _ := v.AsBigFloat().Int64()
	var instances []cty.Value
	for i := range n {
		scope := d.in.scope.NewChild()
		scope.Variables = map[string]cty.Value{"count": cty.ObjectVal(map[string]cty.Value{"index": cty.NumberIntVal(i)})}
		o := e.newObject(d, fmt.Sprintf("%s[%d]", d.name, i), strconv.FormatInt(i, 10), scope)
		if o == nil {
			return cty.DynamicVal
		}
		instances = append(instances, o.ref())
	}
	if n == 0 {
		return cty.ListValEmpty(refType)
	}
	return cty.ListVal(instances)
}

// repeatValue computes for_each or count, whose value is shown in addresses.
func (e *evaluator) repeatValue(a *hclsyntax.Attribute, scope *hcl.EvalContext) cty.Value {
	v := e.eval(a.Expr, scope)
	if v.IsKnown() && v.ContainsMarked() {
		e.report(problem.New(problem.Shown, a.Expr.Range(), "sensitive value would be shown",
			"The keys and the number of instances are shown in plans, so they cannot come from a sensitive value."))
		return cty.DynamicVal
	}
	return v
}

func goodKey(k string) bool {
	return k != "" && !strings.ContainsFunc(k, func(r rune) bool {
		return r == '"' || r == '\\' || r == unicode.ReplacementChar || !unicode.IsPrint(r)
	})
}

// newObject makes one instance of a block; nil where it is a module that cannot
// be made.
func (e *evaluator) newObject(d *decl, name, key string, scope *hcl.EvalContext) *object {
	e.seq++
	o := &object{
		kind: d.kind, name: name, label: d.name, key: key, addr: d.in.prefix + d.kind + "." + name, in: d.in, seq: e.seq,
		header: &d.header, body: d.body, scope: scope,
	}
	if d.kind == "module" && !e.enter(d, o) {
		return nil
	}
	e.addChildren(o)
	if e.overfull(d.header) {
		return nil
	}
	d.objects = append(d.objects, o)
	return o
}

// maxObjects bounds all instances and the blocks within them together.
const maxObjects = 500_000

// overfull reports whether there are more objects than there may be.
func (e *evaluator) overfull(at hcl.Range) bool {
	if e.seq > maxObjects && !e.full {
		e.full = true
		e.report(problem.New(problem.TooLarge, at, "too many instances", "All blocks, instances and nested blocks together exceed %d.", maxObjects))
	}
	return e.full
}

// addChildren makes the blocks within an object objects, too.
func (e *evaluator) addChildren(o *object) {
	if len(o.body.blocks) > 0 {
		o.children = make([]*object, 0, len(o.body.blocks))
	}
	for _, b := range o.body.blocks {
		if e.seq > maxObjects {
			return // newObject says so
		}
		if b.dynamic != nil {
			o.children = append(o.children, e.newRepeat(o, b))
			continue
		}
		e.seq++
		c := &object{
			kind: b.kind, name: b.label, label: b.label, addr: o.addr + b.step, seq: e.seq,
			header: &b.header, body: b.body, scope: o.scope, parent: o, in: o.in,
		}
		e.addChildren(c)
		o.children = append(o.children, c)
	}
}

// child returns the only block of that kind within the object, or nil.
func (o *object) child(kind string) *object {
	if list := o.all(kind); len(list) > 0 {
		return list[0]
	}
	return nil
}

// all returns the blocks of that kind within the object.
func (o *object) all(kind string) []*object {
	var list []*object
	for _, c := range o.children {
		if c.kind == kind {
			list = append(list, c.made()...)
		}
	}
	return list
}

// nested returns the blocks of one kind within an object as a value: a map by
// label, a list, or the only one.
func (o *object) nested(kind string) cty.Value {
	if v, ok := o.values[kind]; ok {
		return v
	}
	spec := o.body.schema.blocks[kind]
	list := o.all(kind)
	var v cty.Value
	switch {
	case spec.label != "":
		byLabel := map[string]cty.Value{}
		for _, c := range list {
			byLabel[c.label] = c.ref()
		}
		v = cty.MapValEmpty(refType)
		if len(byLabel) > 0 {
			v = cty.MapVal(byLabel)
		}
	case len(list) == 0:
		v = cty.NullVal(refType)
	case len(list) == 1:
		v = list[0].ref()
	default:
		items := slice.Map(list, (*object).ref)
		v = cty.ListVal(items)
	}
	if o.values == nil {
		o.values = map[string]cty.Value{}
	}
	o.values[kind] = v
	return v
}

func (o *object) knownPorts() *ports {
	if o.ports == nil {
		o.ports = &ports{named: map[string]*object{}}
	}
	return o.ports
}

// port returns a port of a switch. Every name is one: the device knows better.
func (o *object) port(name string) *object {
	known := o.knownPorts()
	if p := known.named[name]; p != nil {
		return p
	}
	p := &object{
		kind: "port", name: name, label: name, addr: o.addr + ".port[" + strconv.Quote(name) + "]",
		header: o.header, body: &body{schema: &schema{}}, scope: o.scope, parent: o, in: o.in,
	}
	known.named[name] = p
	return p
}

// sortObjects orders references as their blocks were declared.
func sortObjects(list []*object) {
	slices.SortStableFunc(list, func(a, b *object) int { return cmp.Or(a.order-b.order, a.seq-b.seq) })
}
