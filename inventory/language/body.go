package language

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"weft/inventory/problem"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// A body is the inside of a block as written, checked against its schema.
// All instances of the block share it.
type body struct {
	schema *schema
	attrs  map[string]*hclsyntax.Attribute // expressions are lazy
	names  []string                        // of attrs, sorted
	depths map[string]int                  // of their expressions where they are more than usualDepth
	execs  map[string]hcl.Range            // calls of exec in values for a module's variables
	blocks []*bodyBlock

	dynamic bool // one of blocks is

	broken bool            // something in it, or in a block within, was refused: rules do not judge it
	meant  map[string]bool // words that misspelt ones in it stand for: they are not missing
}

// A bodyBlock is a block within a body.
type bodyBlock struct {
	kind   string
	label  string
	header hcl.Range
	body   *body
	step   string // from the address of what it is in to its own
	place  int    // among the blocks of this type without a label; 0: the first

	dynamic  *body  // of a dynamic block; body is its content
	iterator string // the name of its key and value
}

// newBody checks src against its schema and reports everything that does not
// belong there. what names the block for messages.
func (e *evaluator) newBody(s *schema, src *hclsyntax.Body, header hcl.Range, what string) *body {
	b := &body{schema: s, attrs: src.Attributes, names: make([]string, 0, len(src.Attributes))}
	for name, a := range src.Attributes {
		if e.takeAttr(b, a, what) {
			b.names = append(b.names, name)
		} else {
			delete(src.Attributes, name)
			b.misspelt(name)
		}
	}
	slices.Sort(b.names)
	last := make(map[[2]string]*bodyBlock, min(len(src.Blocks), 8))
	for _, block := range src.Blocks {
		e.addBlock(b, block, what, last)
	}
	for _, name := range s.needed {
		if b.attrs[name] == nil {
			b.broken = true
		}
		if b.attrs[name] == nil && !b.meant[name] {
			e.report(problem.New(problem.Missing, header, what+" lacks "+name, "The attribute %s is required: %s.", name, s.attrs[name].takes.name))
		}
	}
	for _, kind := range s.neededBlocks {
		if !slices.ContainsFunc(b.blocks, func(c *bodyBlock) bool { return c.kind == kind }) && !b.meant[kind] {
			e.report(problem.New(problem.Missing, header, what+" lacks "+kind, "At least one block %s is required.", kind))
		}
	}
	return b
}

// takeAttr reports whether an attribute belongs into the body, and prepares its
// expression.
func (e *evaluator) takeAttr(b *body, a *hclsyntax.Attribute, what string) bool {
	spec, known := b.schema.attr(a.Name)
	_, isBlock := b.schema.blocks[a.Name]
	switch {
	case isBlock:
		e.report(problem.New(problem.Attribute, a.NameRange, a.Name+" is a block",
			"In %s, %s is a block: write %s { … } without an equals sign.", what, a.Name, a.Name))
	case known && !spec.written():
		e.report(problem.New(problem.Attribute, a.NameRange, a.Name+" cannot be set",
			"weft determines %s itself.", a.Name))
	case !known && b.schema.attrs != nil && otherWayOf(a.Name) != nil:
		e.report(problem.Within(otherWayOf(a.Name).at(a.NameRange), a.SrcRange))
	case !known && b.schema.attrs != nil && keeps(a.Name):
		e.report(keepsNothing(a, what))
	case !known && b.schema.attrs != nil:
		e.report(problem.New(problem.Attribute, a.NameRange, what+" has no attribute "+a.Name,
			"%s is not supported here.%s", a.Name, e.didYouMean(a.Name, slices.Values(b.schema.words()))))
	default:
		if !spec.raw {
			a.Expr = e.lazy(a.Expr)
		}
		e.measure(b, a, spec)
		return true
	}
	return false
}

// usualDepth is that of most expressions.
const usualDepth = 3

// measure finds out how deep an expression nests and whether it runs commands.
func (e *evaluator) measure(b *body, a *hclsyntax.Attribute, spec attr) {
	switch x := a.Expr.(type) {
	case *scopeExpr, *hclsyntax.LiteralValueExpr:
		return
	case *hclsyntax.TemplateExpr:
		if x.IsStringLiteral() {
			return
		}
	}
	w := &depthWalker{}
	_ = hclsyntax.Walk(a.Expr, w) // the walker never fails
	if w.deepest > usualDepth {
		if b.depths == nil {
			b.depths = map[string]int{}
		}
		b.depths[a.Name] = w.deepest
	}
	_, own := b.schema.attrs[a.Name]
	switch {
	case w.exec == nil || spec.secret:
	case b.schema.open && !own:
		if b.execs == nil {
			b.execs = map[string]hcl.Range{}
		}
		b.execs[a.Name] = *w.exec // it depends on the variable
	default:
		e.report(problem.Within(misplacedExec(*w.exec), a.SrcRange))
	}
}

// depth is how deep the expression of an attribute nests, at most.
func (b *body) depth(name string) int { return max(b.depths[name], usualDepth) }

// addBlock takes a block into the body. last has the last block of each kind
// and label before it.
func (e *evaluator) addBlock(b *body, block *hclsyntax.Block, what string, last map[[2]string]*bodyBlock) {
	if !e.takeBlock(b, block, what, last) {
		b.misspelt(block.Type)
	}
}

// takeBlock reports whether a block belongs into the body, and takes it.
func (e *evaluator) takeBlock(b *body, block *hclsyntax.Block, what string, last map[[2]string]*bodyBlock) bool {
	_, isAttr := b.schema.attrs[block.Type]
	spec, known := b.schema.blocks[block.Type]
	switch {
	case block.Type == "dynamic" && len(b.schema.blocks) > 0:
		e.addDynamic(b, block, what)
		return true
	case isAttr:
		e.report(problem.New(problem.Block, block.DefRange(), block.Type+" is an attribute",
			"In %s, %s is an attribute: write %s = ….", what, block.Type, block.Type))
		return false
	case !known && otherWayOf(block.Type) != nil:
		e.report(otherWayOf(block.Type).at(block.DefRange()))
		return false
	case !known:
		e.report(problem.New(problem.Block, block.DefRange(), what+" has no block "+block.Type,
			"%s is not supported here.%s", block.Type, e.didYouMean(block.Type, slices.Values(b.schema.words()))))
		return false
	}
	if !e.checkLabels(block, spec.label) {
		return false
	}
	child := &bodyBlock{kind: block.Type, header: block.DefRange()}
	if spec.label != "" {
		child.label = block.Labels[0]
		if d := spec.checkLabel(child.label, block.LabelRanges[0]); d != nil {
			e.report(d)
			return false
		}
	}
	id := [2]string{child.kind, child.label}
	switch other := last[id]; {
	case other == nil:
	case spec.many:
		child.place = other.place + 1
	default:
		e.report(problem.New(problem.Twice, child.header, "a second "+blockName(child.kind, child.label),
			"%s is already declared at %s.", blockName(child.kind, child.label), problem.Where(other.header)))
		return false
	}
	last[id] = child
	switch child.step = "." + child.kind; {
	case child.label != "":
		child.step += labelStep(child.label)
	case child.place > 0:
		child.step += "[" + strconv.Itoa(child.place) + "]"
	}
	child.body = e.newBody(spec.schema, block.Body, child.header, blockName(child.kind, child.label))
	b.blocks = append(b.blocks, child)
	return true
}

// misspelt notes that a word was refused, and which one it stands for.
func (b *body) misspelt(word string) {
	b.broken = true
	if near := problem.Near(word, b.schema.words()); near != "" {
		if b.meant == nil {
			b.meant = map[string]bool{}
		}
		b.meant[near] = true
	}
}

// Find returns where an attribute or a block without a label is written, those
// in such blocks by dotted names: safety.save.
func (b *body) Find(path string) (hcl.Range, bool) {
	if a := b.attrs[path]; a != nil {
		return a.SrcRange, true
	}
	kind, rest, deeper := strings.Cut(path, ".")
	if spec, ok := b.schema.blocks[kind]; !ok || spec.label != "" || spec.many {
		return hcl.Range{}, false
	}
	for _, c := range b.blocks {
		if c.kind == kind && deeper {
			return c.body.Find(rest)
		} else if c.kind == kind {
			return c.header, true
		}
	}
	return hcl.Range{}, false
}

func sortedNames[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// checkLabels reports whether the block has the labels that it needs.
func (e *evaluator) checkLabels(block *hclsyntax.Block, label string) bool {
	want := 0
	if label != "" {
		want = 1
	}
	switch {
	case len(block.Labels) == want:
		return true
	case want == 0:
		e.report(problem.New(problem.Labels, block.DefRange(), block.Type+" takes no label", "Write %s { … }.", block.Type))
	case len(block.Labels) == 0:
		e.report(problem.New(problem.Labels, block.DefRange(), block.Type+" lacks its "+label, "Write %s \"%s\" { … }.", block.Type, label))
	default:
		e.report(problem.New(problem.Labels, block.DefRange(), block.Type+" has too many labels", "It takes one label: %s \"%s\" { … }.", block.Type, label))
	}
	return false
}

// later says that a word belongs to the language but nothing acts on it yet.
func later(rng hcl.Range, word string) *hcl.Diagnostic {
	return problem.New(problem.Later, rng, word+": not yet managed",
		"weft recognises this word but cannot manage it yet: remove it.")
}

// blockName is how messages call a block.
func blockName(kind, label string) string {
	if label == "" {
		return kind
	}
	return kind + ` "` + label + `"`
}
