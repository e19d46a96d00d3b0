package inventory

import (
	"maps"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// A body is the inside of a block as written, checked against its schema.
// All instances of the block share it.
type body struct {
	schema *schema
	attrs  map[string]*hclsyntax.Attribute // expressions are lazy
	names  []string                        // of attrs, in the order of the file
	depths map[string]int                  // of their expressions
	ranges map[string]hcl.Range            // Block.Attrs
	execs  map[string]hcl.Range            // calls of exec in values for a module's variables
	blocks []*bodyBlock

	dynamic bool // one of blocks is
}

// A bodyBlock is a block within a body.
type bodyBlock struct {
	kind   string
	label  string
	header hcl.Range
	body   *body

	dynamic  *body  // of a dynamic block; body is its content
	iterator string // the name of its key and value
}

// newBody checks src against its schema and reports everything that does not
// belong there. what names the block for messages.
func (e *evaluator) newBody(s *schema, src *hclsyntax.Body, header hcl.Range, what string) *body {
	b := &body{schema: s, attrs: map[string]*hclsyntax.Attribute{}, depths: map[string]int{}, ranges: map[string]hcl.Range{}}
	if s.open {
		b.execs = map[string]hcl.Range{}
	}
	for _, a := range src.Attributes {
		e.addAttr(b, a, what)
	}
	slices.SortFunc(b.names, func(x, y string) int {
		return b.attrs[x].SrcRange.Start.Byte - b.attrs[y].SrcRange.Start.Byte
	})
	for _, block := range src.Blocks {
		e.addBlock(b, block, what)
	}
	for _, name := range sortedNames(s.attrs) {
		if s.attrs[name].needed && b.attrs[name] == nil {
			e.report(problem(codeMissing, header, what+" lacks "+name, "The attribute %s is needed: %s.", name, s.attrs[name].takes.name))
		}
	}
	for _, kind := range sortedNames(s.blocks) {
		found := slices.ContainsFunc(b.blocks, func(c *bodyBlock) bool { return c.kind == kind })
		if s.blocks[kind].needed && !found {
			e.report(problem(codeMissing, header, what+" lacks "+kind, "At least one block %s is needed.", kind))
		}
	}
	return b
}

func (e *evaluator) addAttr(b *body, a *hclsyntax.Attribute, what string) {
	spec, known := b.schema.attr(a.Name)
	_, isBlock := b.schema.blocks[a.Name]
	switch {
	case isBlock:
		e.report(problem(codeAttribute, a.NameRange, a.Name+" is a block",
			"In %s, %s is a block: write %s { … } without an equals sign.", what, a.Name, a.Name))
	case known && !spec.written():
		e.report(problem(codeAttribute, a.NameRange, a.Name+" cannot be set",
			"weft finds out %s by itself.", a.Name))
	case !known && b.schema.attrs != nil:
		e.report(problem(codeAttribute, a.NameRange, what+" has no attribute "+a.Name,
			"%s is not a word that belongs here.%s", a.Name, didYouMean(a.Name, b.schema.words())))
	default:
		if !spec.raw {
			a.Expr = e.lazy(a.Expr)
		}
		w := &depthWalker{}
		_ = hclsyntax.Walk(a.Expr, w) // the walker never fails
		b.depths[a.Name] = w.deepest
		_, own := b.schema.attrs[a.Name]
		switch {
		case w.exec == nil || spec.secret:
		case b.schema.open && !own:
			b.execs[a.Name] = *w.exec // it depends on the variable
		default:
			e.report(within(misplacedExec(*w.exec), a.SrcRange))
		}
		b.attrs[a.Name] = a
		b.names = append(b.names, a.Name)
		b.ranges[a.Name] = a.SrcRange
	}
}

func (e *evaluator) addBlock(b *body, block *hclsyntax.Block, what string) {
	_, isAttr := b.schema.attrs[block.Type]
	spec, known := b.schema.blocks[block.Type]
	switch {
	case block.Type == "dynamic" && len(b.schema.blocks) > 0:
		e.addDynamic(b, block, what)
		return
	case isAttr:
		e.report(problem(codeBlock, block.DefRange(), block.Type+" is an attribute",
			"In %s, %s is an attribute: write %s = ….", what, block.Type, block.Type))
		return
	case !known:
		e.report(problem(codeBlock, block.DefRange(), what+" has no block "+block.Type,
			"%s is not a word that belongs here.%s", block.Type, didYouMean(block.Type, b.schema.words())))
		return
	}
	if !e.checkLabels(block, spec.label) {
		return
	}
	child := &bodyBlock{kind: block.Type, header: block.DefRange()}
	if spec.label != "" {
		child.label = block.Labels[0]
		if d := spec.checkLabel(child.label, block.LabelRanges[0]); d != nil {
			e.report(d)
			return
		}
	}
	for _, other := range b.blocks {
		if other.kind == child.kind && other.label == child.label && !spec.many && other.dynamic == nil {
			e.report(problem(codeTwice, child.header, "a second "+blockName(child.kind, child.label),
				"%s was already written at %s.", blockName(child.kind, child.label), where(other.header)))
			return
		}
	}
	child.body = e.newBody(spec.schema, block.Body, child.header, blockName(child.kind, child.label))
	b.blocks = append(b.blocks, child)
	if spec.label == "" && !spec.many {
		b.addRanges(child.kind, child.header, child.body)
	}
}

// addRanges makes the places in a nested block known by dotted names.
func (b *body) addRanges(kind string, header hcl.Range, child *body) {
	b.ranges[kind] = header
	for name, rng := range child.ranges {
		b.ranges[kind+"."+name] = rng
	}
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
		e.report(problem(codeLabels, block.DefRange(), block.Type+" takes no label", "Write %s { … }.", block.Type))
	case len(block.Labels) == 0:
		e.report(problem(codeLabels, block.DefRange(), block.Type+" lacks its "+label, "Write %s \"%s\" { … }.", block.Type, label))
	default:
		e.report(problem(codeLabels, block.DefRange(), block.Type+" has too many labels", "It takes one: %s \"%s\" { … }.", block.Type, label))
	}
	return false
}

// later says that a word belongs to the language but nothing acts on it yet.
func later(rng hcl.Range, word string) *hcl.Diagnostic {
	return problem(codeLater, rng, word+": described, not yet managed",
		"weft knows this word, but nothing acts on it yet. Remove it to go on.")
}

// blockName is how messages call a block.
func blockName(kind, label string) string {
	if label == "" {
		return kind
	}
	return kind + ` "` + label + `"`
}
