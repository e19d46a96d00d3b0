package inventory

import (
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
)

// A decl is a block that can be referred to, with its instances.
type decl struct {
	kind, name string
	header     hcl.Range
	body       *body
	instances  *cell // its instances as a value: one reference, a list or a map of them
	objects    []*object
	order      int // of declaration
}

// A declared is a block of the files that no other refers to.
type declared struct {
	name   string
	header hcl.Range
	body   *body
	object *object
}

// A program is everything that the files declare.
type program struct {
	weft      *declared
	decls     []*decl
	named     map[string]map[string]*decl // by kind and name
	variables map[string]*variable
	order     []*variable
	locals    map[string]*cell
	outputs   []*declared
	checks    []*declared
}

// collect declares what the files hold and reports what does not belong there.
func (e *evaluator) collect(files []*sourceFile) {
	schemas := language()
	e.schemas = schemas
	for _, f := range files {
		if f.body == nil {
			continue
		}
		for _, name := range sortedAttributes(f.body) {
			a := f.body.Attributes[name]
			e.report(problem(codeAttribute, a.NameRange, "attribute outside of a block",
				"%s stands alone; a file consists of blocks. Values of variables belong in weft.weftvars.", name))
		}
		for _, block := range f.body.Blocks {
			e.declare(schemas, block)
		}
	}
	if e.weft == nil && !broken(files) {
		e.report(problem(codeMissing, fileStart(files[0].name), "no weft block",
			`One of the files must name the owner of what weft creates: weft { name = "…" }.`))
	}
}

func (e *evaluator) declare(schemas map[string]*schema, block *hclsyntax.Block) {
	s, known := schemas[block.Type]
	header := block.DefRange()
	switch {
	case slices.Contains(laterBlocks(), block.Type):
		e.report(later(header, block.Type))
		return
	case !known:
		words := slices.Concat(slices.Collect(maps.Keys(schemas)), laterBlocks())
		e.report(problem(codeBlock, header, "no block "+block.Type,
			"%s is not a word that belongs here.%s", block.Type, didYouMean(block.Type, words)))
		return
	case !e.checkLabels(block, s.label):
		return
	}
	name := ""
	if s.label != "" {
		name = block.Labels[0]
		if !hclsyntax.ValidIdentifier(name) {
			e.report(problem(codeLabels, block.LabelRanges[0], "not a name",
				"%q cannot be referred to: a name starts with a letter and has only letters, digits, - and _.", name))
			return
		}
	}
	if first, ok := e.first(block.Type, name); ok && block.Type != "locals" {
		e.report(problem(codeTwice, header, "a second "+blockName(block.Type, name),
			"%s was already declared at %s.", blockName(block.Type, name), where(first)))
		return
	}
	e.add(block, name, e.newBody(s, block.Body, header, blockName(block.Type, name)))
}

// first returns where a block of that type and name was declared.
func (e *evaluator) first(kind, name string) (hcl.Range, bool) {
	switch kind {
	case "weft":
		if e.weft != nil {
			return e.weft.header, true
		}
	case "variable":
		if v := e.variables[name]; v != nil {
			return v.header, true
		}
	case "output":
		return firstOf(e.outputs, name)
	case "check":
		return firstOf(e.checks, name)
	default:
		if d := e.named[kind][name]; d != nil {
			return d.header, true
		}
	}
	return hcl.Range{}, false
}

func firstOf(list []*declared, name string) (hcl.Range, bool) {
	for _, d := range list {
		if d.name == name {
			return d.header, true
		}
	}
	return hcl.Range{}, false
}

func (e *evaluator) add(block *hclsyntax.Block, name string, b *body) {
	d := &declared{name: name, header: block.DefRange(), body: b}
	d.object = &object{
		kind: block.Type, name: name, addr: strings.TrimSuffix(block.Type+"."+name, "."),
		header: d.header, body: b, scope: e.scope,
	}
	switch block.Type {
	case "weft":
		e.weft = d
	case "variable":
		e.addVariable(d)
	case "locals":
		for _, n := range b.names {
			e.addLocal(b.attrs[n])
		}
	case "output":
		e.outputs = append(e.outputs, d)
	case "check":
		e.checks = append(e.checks, d)
	default:
		e.addDecl(&decl{kind: block.Type, name: name, header: d.header, body: b})
	}
}

func (e *evaluator) addLocal(a *hclsyntax.Attribute) {
	if first := e.locals[a.Name]; first != nil {
		e.report(problem(codeTwice, a.NameRange, "a second local "+a.Name,
			"local.%s was already declared at %s.", a.Name, where(first.at)))
		return
	}
	e.locals[a.Name] = newCell("local."+a.Name, a.SrcRange, depthOf(a.Expr), func() cty.Value { return e.eval(a.Expr, e.scope) })
}

func (e *evaluator) addDecl(d *decl) {
	if e.named[d.kind] == nil {
		e.named[d.kind] = map[string]*decl{}
	}
	e.named[d.kind][d.name] = d
	d.order = len(e.decls)
	e.decls = append(e.decls, d)
	at, depth := d.header, 0
	for _, name := range []string{"for_each", "count"} {
		if a := d.body.attrs[name]; a != nil {
			at, depth = a.SrcRange, d.body.depths[name]
		}
	}
	d.instances = newCell(d.kind+"."+d.name, at, depth, func() cty.Value { return e.expand(d) })
}

func sortedAttributes(b *hclsyntax.Body) []string {
	return slices.SortedFunc(maps.Keys(b.Attributes), func(x, y string) int {
		return b.Attributes[x].SrcRange.Start.Byte - b.Attributes[y].SrcRange.Start.Byte
	})
}
