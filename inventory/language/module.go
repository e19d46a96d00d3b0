package language

import (
	"io/fs"
	"maps"
	"path"
	"reflect"
	"slices"
	"strings"

	"weft/inventory/problem"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
)

// A module is what the files of one directory declare, with values for their
// variables: the root, or one instance of a module block.
type module struct {
	program
	e      *evaluator
	from   *directory
	call   *object          // the instance of the module block; nil: the root
	prefix string           // of the addresses of what is declared: module.x.
	scope  *hcl.EvalContext // knows the functions and the module itself
}

// A directory is read once, however many modules come from it.
type directory struct {
	path             string // below the root, with slashes; ".": the root
	files            []*sourceFile
	outside, secrets *outside
	functions        map[string]function.Function
	calls            map[*hclsyntax.Block]*directory // where its module blocks lead
	bodies           map[*hclsyntax.Block]*body
}

const (
	maxModuleDepth = 30     // modules within modules
	maxModules     = 10_000 // instances of all module blocks together
)

// moduleKey is where a scope keeps its module. No expression can name it.
const moduleKey = "(module)"

var moduleType = cty.Capsule("module", reflect.TypeFor[module]())

func (e *evaluator) newModule(from *directory, call *object) *module {
	m := &module{e: e, from: from, call: call}
	m.named = map[string]map[string]*decl{}
	m.variables = map[string]*variable{}
	m.locals = map[string]*cell{}
	m.listed = map[[2]string]*declared{}
	if call != nil {
		m.prefix = call.addr + "."
	}
	m.scope = &hcl.EvalContext{
		Functions: from.functions,
		Variables: map[string]cty.Value{moduleKey: cty.CapsuleVal(moduleType, m)},
	}
	return m
}

// moduleOf is the module in which an expression is computed.
func (e *evaluator) moduleOf(ctx *hcl.EvalContext) *module {
	if v, ok := inScope(ctx, moduleKey); ok {
		return v.EncapsulatedValue().(*module)
	}
	return e.root
}

func (e *evaluator) newDirectory(path string) *directory {
	d := &directory{
		path: path, outside: e.outside.in(path), secrets: e.secrets.in(path),
		calls: map[*hclsyntax.Block]*directory{}, bodies: map[*hclsyntax.Block]*body{},
	}
	d.functions = functions(d.outside)
	e.directories[path] = d
	return d
}

// A moduleStep is one module block on the way to a directory.
type moduleStep struct {
	to string
	at hcl.Range
}

// discover reads the directories that the module blocks in d lead to, and
// those that follow from them. way leads from the root to d.
func (e *evaluator) discover(fsys fs.FS, d *directory, way []moduleStep) {
	for _, f := range d.files {
		if f.body == nil {
			continue
		}
		for _, block := range f.body.Blocks {
			if a := block.Body.Attributes["source"]; a != nil && block.Type == "module" {
				e.discoverCall(fsys, d, block, a, way)
			}
		}
	}
}

func (e *evaluator) discoverCall(fsys fs.FS, d *directory, block *hclsyntax.Block, a *hclsyntax.Attribute, way []moduleStep) {
	refuse := func(code problem.Code, summary, format string, args ...any) {
		e.report(problem.Within(problem.New(code, a.Expr.Range(), summary, format, args...), a.SrcRange))
	}
	source, plain := plainText(a.Expr)
	to := path.Join(d.path, source)
	way = append(slices.Clip(way), moduleStep{to, block.DefRange()})
	switch {
	case !plain:
		refuse(problem.Value, "not a literal string", "source is read before any expression is evaluated: write a quoted string without ${ }.")
		return
	case !strings.HasPrefix(source, "./") && !strings.HasPrefix(source, "../"):
		refuse(problem.File, "not a local path", `%q is not a directory of this inventory: a source starts with "./" or "../". weft fetches no modules.`, source)
		return
	case !fs.ValidPath(to):
		refuse(problem.File, "outside of the inventory", "%q leads out of the directory of the inventory.", source)
		return
	case len(way) > maxModuleDepth:
		refuse(problem.TooLarge, "too many modules in each other", "Modules lie within each other more than %d deep here.", maxModuleDepth)
		return
	}
	i := slices.IndexFunc(way[:len(way)-1], func(s moduleStep) bool { return s.to == to })
	if i >= 0 || to == "." {
		e.reportModuleCycle(way[i+1:], to)
		return
	}
	next := e.directories[to]
	if next == nil {
		files, err := parseDir(fsys, to, ".weft.hcl")
		switch {
		case err != nil:
			refuse(problem.File, "cannot read the module", "%v.", err)
			return
		case len(files) == 0:
			refuse(problem.File, "no module here", "The directory %s has no file whose name ends in .weft.hcl.", to)
			return
		}
		next = e.newDirectory(to)
		next.files = files
		e.discover(fsys, next, way)
	}
	d.calls[block] = next
}

func (e *evaluator) reportModuleCycle(steps []moduleStep, to string) {
	var text strings.Builder
	name := func(dir string) string {
		if dir == "." {
			return "the root directory"
		}
		return "./" + dir
	}
	text.WriteString(name(to))
	for _, s := range steps {
		text.WriteString(" needs (" + problem.Where(s.at) + ")\n" + name(s.to))
	}
	e.report(problem.New(problem.Cycle, steps[len(steps)-1].at, "a module contains itself", "%s.", text.String()))
}

// moduleWords are the attributes of a module block that are not values for
// variables.
func moduleWords() []string { return []string{"source", "for_each", "count", "enabled", "depends_on"} }

// enter makes what is inside of an instance of a module block.
func (e *evaluator) enter(d *decl, o *object) bool {
	if d.from == nil {
		return false // reported
	}
	if e.modules++; e.modules > maxModules {
		if e.modules == maxModules+1 {
			e.report(problem.New(problem.TooLarge, d.header, "too many modules", "All module blocks together have at most %d instances.", maxModules))
		}
		return false
	}
	m := e.newModule(d.from, o)
	o.inside = m
	m.collect()
	for _, name := range d.body.names {
		if slices.Contains(moduleWords(), name) {
			continue
		}
		a := d.body.attrs[name]
		v := m.variables[name]
		if v == nil {
			e.report(problem.New(problem.VarUnknown, a.NameRange, "no variable "+name,
				"The module in %s has no such variable.%s", d.from.path, e.didYouMean(name, maps.Keys(m.variables))))
			continue
		}
		v.given = &given{from: problem.Where(a.SrcRange), input: a, call: o}
		if exec, ok := d.body.execs[name]; ok && !v.sensitive {
			e.report(problem.Within(misplacedExec(exec), a.SrcRange))
		}
	}
	return true
}

// contents is everything that takes part, all modules together.
type contents struct {
	decls    []*decl // but module blocks, in the order of the files
	modules  []*module
	complete bool // all modules are known
}

// contents lists what the root and the modules in it declare.
func (e *evaluator) contents() contents { return e.contentsOf(e.root) }

func (e *evaluator) contentsOf(top *module) contents {
	all := contents{complete: true}
	var walk func(m *module)
	walk = func(m *module) {
		all.modules = append(all.modules, m)
		for _, d := range m.decls {
			if d.kind != "module" {
				all.decls = append(all.decls, d)
				continue
			}
			if !e.get(&d.instances).IsKnown() {
				all.complete = false
				continue
			}
			for _, o := range d.objects {
				walk(o.inside)
			}
		}
	}
	walk(top)
	return all
}

func (m *module) addOutput(d *declared) {
	m.outputs = append(m.outputs, d)
	a := d.body.attrs["value"]
	if a == nil {
		return
	}
	a.Expr = m.e.lazy(a.Expr)
	d.value = newCell(m.prefix+"output."+d.name, a.SrcRange, d.body.depth("value"), func() cty.Value { return m.e.eval(a.Expr, m.scope) })
}

// secretScope is a scope in which secrets are read.
func (d *directory) secretScope(scope *hcl.EvalContext) *hcl.EvalContext {
	scope = scope.NewChild()
	scope.Functions = d.secrets.functions()
	return scope
}

// outputOf is module.x.name. Where observed values are known it is computed
// with those.
func (e *evaluator) outputOf(ctx *hcl.EvalContext, o *object, name string, rng hcl.Range) (cty.Value, *hcl.Diagnostic) {
	m := o.inside
	d := m.listed[[2]string{"output", name}]
	if d == nil {
		names := func(yield func(string) bool) {
			for _, d := range m.outputs {
				if !yield(d.name) {
					return
				}
			}
		}
		return cty.NilVal, problem.New(problem.Reference, rng, o.addr+" has no output "+name,
			"Only outputs of a module can be used.%s", e.didYouMean(name, names))
	}
	if d.value == nil {
		return cty.DynamicVal, nil // reported
	}
	var v cty.Value
	if hook, ok := inScope(ctx, observedKey); ok {
		var diags hcl.Diagnostics
		if v, diags = d.body.attrs["value"].Expr.Value(observing(m.scope, hook)); diags.HasErrors() {
			return cty.NilVal, diags[0]
		}
	} else {
		v = e.get(d.value)
	}
	if flag := e.attr(d.object, "sensitive"); flag.IsKnown() && !flag.IsNull() && flag.True() {
		v = v.Mark(sensitive)
	}
	return v, nil
}

// bound is an expression with the scope that it belongs to. Observed values
// come from the scope that it is computed with.
type bound struct {
	hcl.Expression
	scope *hcl.EvalContext
}

// Value computes the expression.
func (x *bound) Value(ctx *hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
	scope := x.scope
	if hook, ok := inScope(ctx, observedKey); ok {
		scope = observing(scope, hook)
	}
	return x.Expression.Value(scope)
}

// observing is a scope in which observed attributes have values.
func observing(scope *hcl.EvalContext, hook cty.Value) *hcl.EvalContext {
	scope = scope.NewChild()
	scope.Variables = map[string]cty.Value{observedKey: hook}
	return scope
}
