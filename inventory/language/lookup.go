package language

import (
	"fmt"
	"iter"
	"maps"
	"reflect"
	"slices"

	"weft/inventory"
	"weft/inventory/problem"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
)

// lookUp finds what the first steps of a traversal name: var.x, local.x or
// the instances of a block. It returns the steps that are left.
func (m *module) lookUp(t hcl.Traversal) (v cty.Value, rest hcl.Traversal, d *hcl.Diagnostic) {
	e, root := m.e, t[0].(hcl.TraverseRoot)
	if s := e.schemas[root.Name]; root.Name != "var" && root.Name != "local" && (s == nil || !s.refers) {
		return v, nil, e.unknownRoot(root)
	}
	if len(t) < 2 {
		return v, nil, problem.New(problem.Reference, root.SrcRange, "not a value", "%s is not a value: add a name, as in %s.NAME.", root.Name, root.Name)
	}
	step, ok := t[1].(hcl.TraverseAttr)
	if !ok {
		return v, nil, problem.New(problem.Reference, t[1].SourceRange(), "not a name", "Write the name after %s literally: %s.NAME.", root.Name, root.Name)
	}
	var names iter.Seq[string]
	switch root.Name {
	case "var":
		if found := m.variables[step.Name]; found != nil {
			return e.get(found.cell), t[2:], nil
		}
		names = maps.Keys(m.variables)
	case "local":
		if found := m.locals[step.Name]; found != nil {
			return e.get(found), t[2:], nil
		}
		names = maps.Keys(m.locals)
	default:
		if found := m.named[root.Name][step.Name]; found != nil {
			return e.get(&found.instances), t[2:], nil
		}
		if e.meant[root.Name] {
			return cty.DynamicVal, nil, nil // it may be one whose type is misspelt, which was reported
		}
		names = maps.Keys(m.named[root.Name])
	}
	return v, nil, problem.New(problem.Reference, step.SrcRange, fmt.Sprintf("no %s.%s", root.Name, step.Name),
		"No object of this name is declared.%s", e.didYouMean(step.Name, names))
}

func (e *evaluator) unknownRoot(root hcl.TraverseRoot) *hcl.Diagnostic {
	switch root.Name {
	case "each":
		return problem.New(problem.Reference, root.SrcRange, "each without for_each", "each.key and each.value are available only in a block with for_each.")
	case "count":
		return problem.New(problem.Reference, root.SrcRange, "count without count", "count.index is available only in a block with count.")
	case "path":
		return problem.New(problem.Reference, root.SrcRange, "unknown name path", "path.module, path.root and path.cwd do not exist. A path in file, templatefile and source is relative "+
			"to the file that contains it: write \"servers.yaml\" for \"${path.module}/servers.yaml\".")
	case "terraform":
		return problem.New(problem.Reference, root.SrcRange, "unknown name terraform", "Workspaces do not exist: use a variable, with a --var-file for each site.")
	case "data":
		return problem.New(problem.Reference, root.SrcRange, "unknown name data", "Data sources do not exist: read a file with yamldecode(file(\"x.yaml\")) or jsondecode, or run a program with exec.")
	case "self":
		return problem.New(problem.Reference, root.SrcRange, "unknown name self", "Refer to a block by its address, such as server.st1, even inside the block.")
	}
	return problem.New(problem.Reference, root.SrcRange, "unknown name "+root.Name,
		"%s is neither a block type that can be referenced, nor var, local or each.%s Write strings in quotes.",
		root.Name, problem.DidYouMean(root.Name, append(referable(), "module", "var", "local", "each", "count")))
}

// steps takes one step after the other into a value.
func (e *evaluator) steps(ctx *hcl.EvalContext, v cty.Value, t hcl.Traversal) (cty.Value, hcl.Diagnostics) {
	for _, step := range t {
		var diags hcl.Diagnostics
		switch step := step.(type) {
		case hcl.TraverseAttr:
			v, diags = e.member(ctx, v, step.Name, step.SrcRange)
		case hcl.TraverseIndex:
			v, diags = e.index(v, step.Key, step.SrcRange)
		default:
			diags = hcl.Diagnostics{problem.New(problem.Reference, step.SourceRange(), "not a step", "Write .name or [key] here.")}
		}
		if diags.HasErrors() {
			return cty.DynamicVal, diags
		}
	}
	return v, nil
}

// member takes the step .name.
func (e *evaluator) member(ctx *hcl.EvalContext, v cty.Value, name string, rng hcl.Range) (cty.Value, hcl.Diagnostics) {
	bare, marks := v.Unmark()
	if bare.Type() == refType && bare.IsKnown() && !bare.IsNull() {
		v, d := e.objectMember(ctx, bare.EncapsulatedValue().(*object), name, rng)
		if d != nil {
			return cty.DynamicVal, hcl.Diagnostics{d}
		}
		return v.WithMarks(marks), nil
	}
	if bare.Type() == refType {
		if bare.IsNull() {
			return cty.DynamicVal, hcl.Diagnostics{problem.New(problem.Reference, rng, "no such block", "This block does not exist, so it has no %s.", name)}
		}
		return cty.DynamicVal, nil
	}
	if d := e.missing(bare, name, rng); d != nil {
		return cty.DynamicVal, hcl.Diagnostics{d}
	}
	return hcl.GetAttr(v, name, rng.Ptr())
}

// objectMember is an attribute of an object, or the blocks of one kind in it.
func (e *evaluator) objectMember(ctx *hcl.EvalContext, o *object, name string, rng hcl.Range) (cty.Value, *hcl.Diagnostic) {
	switch {
	case o.kind == "switch" && name == "port":
		return portsOf(o), nil
	case o.inside != nil:
		return e.outputOf(ctx, o, name, rng)
	}
	if _, ok := o.body.schema.blocks[name]; ok {
		if o.body.meant[name] {
			return cty.DynamicVal, nil // likewise
		}
		return o.nested(name), nil
	}
	spec, ok := o.body.schema.attrs[name]
	switch {
	case !ok || name == "for_each" || name == "count":
		return cty.NilVal, problem.New(problem.Reference, rng, fmt.Sprintf("%s has no %s", o.addr, name),
			"A %s has no attribute or block of this name.%s", o.kind, e.didYouMean(name, slices.Values(o.body.schema.words())))
	case spec.secret:
		return cty.NilVal, problem.New(problem.Shown, rng, name+" is sensitive", "weft reads it only when it connects, so it cannot be used elsewhere.")
	case !spec.observed:
		return e.attr(o, name), nil
	}
	hook, ok := inScope(ctx, observedKey)
	if !ok {
		return cty.NilVal, problem.New(problem.Observed, rng, name+" is observed",
			"%s.%s is known only after facts or verify: use it only in an output, a check or the limit of a metric.", o.addr, name)
	}
	v, err := (*hook.EncapsulatedValue().(*inventory.Observed))(o.addr, name)
	if err != nil {
		return cty.NilVal, problem.New(problem.Observed, rng, name+" is not known", "%s.%s: %v.", o.addr, name, err)
	}
	return v, nil
}

// observedKey is where a scope keeps its Observed. No expression can name it.
const observedKey = "(observed)"

var observedType = cty.Capsule("observed", reflect.TypeFor[inventory.Observed]())

// portsOf stands for all ports of a switch, of which nobody has the list.
func portsOf(o *object) cty.Value {
	known := o.knownPorts()
	if known.any == cty.NilVal {
		known.any = (&object{kind: "ports", addr: o.addr + ".port", header: o.header, body: &body{schema: &schema{}}, parent: o}).ref()
	}
	return known.any
}

// index takes the step [key].
func (e *evaluator) index(v, key cty.Value, rng hcl.Range) (cty.Value, hcl.Diagnostics) {
	bare, marks := v.Unmark()
	if bare.Type() == refType {
		if !bare.IsKnown() || !key.IsKnown() {
			return cty.DynamicVal, nil
		}
		v, d := indexReference(bare, key, rng)
		if d != nil {
			return cty.DynamicVal, hcl.Diagnostics{d}
		}
		return v.WithMarks(marks), nil
	}
	if name, _ := key.Unmark(); name.Type() == cty.String && name.IsKnown() && !name.IsNull() && !key.IsMarked() {
		if d := e.missing(bare, name.AsString(), rng); d != nil {
			return cty.DynamicVal, hcl.Diagnostics{d}
		}
	}
	return hcl.Index(v, key, rng.Ptr())
}

func indexReference(v, key cty.Value, rng hcl.Range) (cty.Value, *hcl.Diagnostic) {
	if v.IsNull() {
		return cty.NilVal, problem.New(problem.Reference, rng, "no such block", "This block does not exist.")
	}
	o := v.EncapsulatedValue().(*object)
	if o.kind != "ports" {
		return cty.NilVal, problem.New(problem.Reference, rng, o.addr+" is one block", "It has neither for_each nor count, so it takes no key.")
	}
	if key.IsMarked() || key.Type() != cty.String || key.IsNull() || !goodKey(key.AsString()) {
		return cty.NilVal, problem.New(problem.Reference, rng, "invalid port name", `Use the name on the switch: port["Ethernet1/1"].`)
	}
	return o.parent.port(key.AsString()).ref(), nil
}

// missing says that a map or an object has nothing of that name, with the
// nearest name there is. It returns nil where that is not so, or not known.
func (e *evaluator) missing(v cty.Value, name string, rng hcl.Range) *hcl.Diagnostic {
	ty := v.Type()
	if !v.IsKnown() || v.IsNull() {
		return nil
	}
	var names iter.Seq[string]
	switch {
	case ty.IsObjectType():
		if ty.HasAttribute(name) {
			return nil
		}
		names = maps.Keys(ty.AttributeTypes())
	case ty.IsMapType():
		if v.HasIndex(cty.StringVal(name)).True() {
			return nil
		}
		names = func(yield func(string) bool) {
			for it := v.ElementIterator(); it.Next(); {
				if k, _ := it.Element(); !yield(k.AsString()) {
					return
				}
			}
		}
	default:
		return nil
	}
	what := "This value has"
	if ty.IsMapType() && ty.ElementType() == refType {
		what = "There is"
		if v.LengthInt() > 0 && e.guesses <= maxGuesses {
			_, first := firstElement(v)
			o := first.EncapsulatedValue().(*object)
			what = fmt.Sprintf("%s.%s has", o.kind, o.label)
			if o.parent != nil {
				what = o.parent.addr + " has"
			}
		}
	}
	return problem.New(problem.Reference, rng, "no "+fmt.Sprintf("%q", name), "%s no %q.%s", what, name, e.didYouMean(name, names))
}

func firstElement(v cty.Value) (key, item cty.Value) {
	it := v.ElementIterator()
	it.Next()
	return it.Element()
}

// maxGuesses is how many names are compared with misspelt ones at most, so that
// thousands of mistakes in a large inventory are soon reported.
const maxGuesses = 1_000_000

// didYouMean is for mistakes of which there may be many, among many names.
func (e *evaluator) didYouMean(word string, candidates iter.Seq[string]) string {
	var few []string
	if e.guesses > maxGuesses {
		return ""
	}
	for c := range candidates {
		if e.guesses++; e.guesses > maxGuesses {
			return ""
		}
		if max(len(c)-len(word), len(word)-len(c)) < problem.FarOff {
			few = append(few, c)
		}
	}
	return problem.DidYouMean(word, few)
}
