package language

import (
	"maps"
	"slices"
	"strings"

	"weft/inventory/problem"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
)

// A decl is a block that can be referred to, with its instances.
type decl struct {
	kind, name string
	in         *module
	header     hcl.Range
	body       *body
	instances  cell       // its instances as a value: one reference, a list or a map of them
	from       *directory // of a module block: what it stands for; nil: reported
	objects    []*object
}

// A declared is a block of the files that no other refers to.
type declared struct {
	name   string
	header hcl.Range
	body   *body
	object *object
	value  *cell // of an output
}

// A program is everything that the files of one directory declare.
type program struct {
	weft      *declared
	decls     []*decl
	named     map[string]map[string]*decl // by kind and name
	variables map[string]*variable
	order     []*variable
	locals    map[string]*cell
	outputs   []*declared
	checks    []*declared
	policies  []*declared
	listed    map[[2]string]*declared // outputs, checks and policies by kind and name
	removed   []*declared
	moved     []*declared
}

// collect declares what the files hold and reports what does not belong there.
func (m *module) collect() {
	for _, f := range m.from.files {
		if f.body == nil {
			continue
		}
		for _, name := range sortedAttributes(f.body) {
			a := f.body.Attributes[name]
			m.e.report(problem.New(problem.Attribute, a.NameRange, "attribute outside of a block",
				"%s is outside of a block. Set values of variables in weft.weftvars.", name))
		}
		for _, block := range f.body.Blocks {
			m.declare(block)
		}
	}
	if m.call == nil && m.weft == nil && !m.e.meant["weft"] && !broken(m.from.files) {
		m.e.report(problem.New(problem.Missing, fileStart(m.from.files[0].name), "no weft block",
			`One of the files must set the owner's name: weft { name = "…" }.`))
	}
}

func (m *module) declare(block *hclsyntax.Block) {
	e := m.e
	s, known := e.schemas[block.Type]
	header := block.DefRange()
	switch {
	case !known:
		e.report(problem.New(problem.Block, header, "no block "+block.Type,
			"%s is not supported here.%s", block.Type, e.didYouMean(block.Type, maps.Keys(e.schemas))))
		if near := problem.Near(block.Type, slices.Collect(maps.Keys(e.schemas))); near != "" {
			e.refused(near)
		}
		return
	case block.Type == "weft" && m.call != nil:
		e.report(problem.New(problem.Block, header, "weft in a module",
			"A module uses the owner of the files that include it."))
		return
	case block.Type == "store" && m.call != nil:
		e.report(problem.New(problem.Block, header, "a store in a module",
			"The run store is declared only in the files that include the module."))
		return
	case block.Type == "store": // see checkStore
		if e.checkLabels(block, s.label) {
			m.from.body(e, s, block)
		}
		return
	case !e.checkLabels(block, s.label):
		e.refused(block.Type)
		return
	}
	name := ""
	if s.label != "" {
		name = block.Labels[0]
		if !isName(name) {
			e.report(problem.New(problem.Labels, block.LabelRanges[0], "not a name",
				"%q cannot be used in references: a name starts with a letter and contains only letters, digits, - and _.", name))
			e.refused(block.Type)
			return
		}
	}
	if first, ok := m.first(block.Type, name); ok && block.Type != "locals" {
		e.report(problem.New(problem.Twice, header, "a second "+blockName(block.Type, name),
			"%s is already declared at %s.", blockName(block.Type, name), problem.Where(first)))
		return
	}
	m.add(block, name, m.from.body(e, s, block))
}

// refused notes that a block of a type was refused: what refers to one may mean it.
func (e *evaluator) refused(kind string) {
	if e.meant == nil {
		e.meant = map[string]bool{}
	}
	e.meant[kind] = true
}

// body returns the inside of a block, checked once for all modules that come
// from the directory.
func (d *directory) body(e *evaluator, s *schema, block *hclsyntax.Block) *body {
	if b := d.bodies[block]; b != nil {
		return b
	}
	name := ""
	if len(block.Labels) > 0 {
		name = block.Labels[0]
	}
	b := e.newBody(s, block.Body, block.DefRange(), blockName(block.Type, name))
	d.bodies[block] = b
	return b
}

// first returns where a block of that type and name was declared.
func (m *module) first(kind, name string) (hcl.Range, bool) {
	switch kind {
	case "weft":
		if m.weft != nil {
			return m.weft.header, true
		}
	case "variable":
		if v := m.variables[name]; v != nil {
			return v.header, true
		}
	case "output", "check", "policy":
		if d := m.listed[[2]string{kind, name}]; d != nil {
			return d.header, true
		}
	default:
		if d := m.named[kind][name]; d != nil {
			return d.header, true
		}
	}
	return hcl.Range{}, false
}

func (m *module) add(block *hclsyntax.Block, name string, b *body) {
	if m.e.schemas[block.Type].refers {
		m.addDecl(&decl{kind: block.Type, name: name, in: m, header: block.DefRange(), body: b, from: m.from.calls[block]})
		return
	}
	d := &declared{name: name, header: block.DefRange(), body: b}
	d.object = &object{
		kind: block.Type, name: name, addr: m.prefix + strings.TrimSuffix(block.Type+"."+name, "."),
		header: &d.header, body: b, scope: m.scope, in: m,
	}
	switch block.Type {
	case "weft":
		m.weft = d
	case "variable":
		m.addVariable(d)
	case "locals":
		for _, n := range b.names {
			m.addLocal(b.attrs[n])
		}
	case "output":
		m.listed[[2]string{"output", name}] = d
		m.addOutput(d)
	case "check":
		m.listed[[2]string{"check", name}] = d
		m.checks = append(m.checks, d)
	case "policy":
		m.listed[[2]string{"policy", name}] = d
		m.policies = append(m.policies, d)
	case "removed":
		m.removed = append(m.removed, d)
	case "moved":
		m.moved = append(m.moved, d)
	}
}

func (m *module) addLocal(a *hclsyntax.Attribute) {
	if first := m.locals[a.Name]; first != nil {
		m.e.report(problem.New(problem.Twice, a.NameRange, "a second local "+a.Name,
			"local.%s is already declared at %s.", a.Name, problem.Where(first.at())))
		return
	}
	m.locals[a.Name] = newCell(m.prefix+"local."+a.Name, a.SrcRange, depthOf(a.Expr), func() cty.Value { return m.e.eval(a.Expr, m.scope) })
}

func (m *module) addDecl(d *decl) {
	if m.named[d.kind] == nil {
		m.named[d.kind] = map[string]*decl{}
	}
	m.named[d.kind][d.name] = d
	m.decls = append(m.decls, d)
	d.instances.of = d
}

func (d *decl) cellName(string) string { return d.in.prefix + d.kind + "." + d.name }

func (d *decl) cellRange(string) hcl.Range {
	if a := d.repeats(); a != nil {
		return a.SrcRange
	}
	return d.header
}

func (d *decl) cellDepth(string) int {
	if a := d.repeats(); a != nil {
		return d.body.depth(a.Name)
	}
	return 0
}

func (d *decl) compute(e *evaluator, _ string) cty.Value { return e.expand(d) }

// repeats is the attribute that says which instances there are, or nil.
func (d *decl) repeats() *hclsyntax.Attribute {
	if a := d.body.attrs["for_each"]; a != nil {
		return a
	}
	return d.body.attrs["count"]
}

func sortedAttributes(b *hclsyntax.Body) []string {
	return slices.SortedFunc(maps.Keys(b.Attributes), func(x, y string) int {
		return b.Attributes[x].SrcRange.Start.Byte - b.Attributes[y].SrcRange.Start.Byte
	})
}
