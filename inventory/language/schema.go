package language

import (
	"maps"
	"slices"

	"weft/inventory/problem"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
)

// A schema says what the body of one type of block may hold.
type schema struct {
	attrs  map[string]attr
	blocks map[string]nested
	label  string     // what the one label stands for; "": there is none
	names  *valueType // what the label must be; nil: any text
	refers bool       // instances can be referred to as type.label
	open   bool       // takes any other attribute, too

	lists
}

// lists are what follows from the attributes and blocks of a schema, and is
// asked for again and again.
type lists struct {
	constants    map[string]cty.Value // of attributes that are not written, where they are not derived
	derived      []string             // attributes that may be derived
	evaluated    []string             // attributes that are computed for every instance
	depends      []string             // attributes without whose blocks an instance is disabled
	needed       []string             // attributes
	neededBlocks []string
}

// prepare makes the lists of a schema and of those within it.
func (s *schema) prepare() {
	s.lists = lists{constants: map[string]cty.Value{}}
	for _, name := range sortedNames(s.attrs) {
		a := s.attrs[name]
		if a.derive != nil {
			s.derived = append(s.derived, name)
		} else {
			s.constants[name] = a.constant()
		}
		if !(a.raw || a.secret || a.observed || name == "for_each" || name == "count") {
			s.evaluated = append(s.evaluated, name)
		}
		if len(a.takes.refs) > 0 && !a.takes.many && (a.needed || name == "server") {
			s.depends = append(s.depends, name)
		}
		if a.needed {
			s.needed = append(s.needed, name)
		}
	}
	for _, kind := range sortedNames(s.blocks) {
		s.blocks[kind].prepare()
		if s.blocks[kind].needed {
			s.neededBlocks = append(s.neededBlocks, kind)
		}
	}
}

// An attr is one attribute of a block.
type attr struct {
	takes    valueType
	needed   bool
	unset    cty.Value // its value where it is not written; NilVal: null
	derive   derived   // computes the value where it is not written
	observed bool      // known only after facts or verify; never written
	computed bool      // always derived, never written
	late     bool      // may use observed values; then it has no value here
	raw      bool      // never evaluated here: a type, or what may use observed values
	secret   bool      // evaluated when it is read, never shown
	private  bool      // may take sensitive values
}

// A derived computes the value of an attribute that is not written.
type derived func(*evaluator, *object) cty.Value

// nested is a type of block within another.
type nested struct {
	*schema
	needed bool // at least one
	many   bool // more than one without a label
}

type attrs map[string]attr

type blocks map[string]nested

// need is an attribute that must be written.
func need(t valueType) attr { return attr{takes: t, needed: true} }

// opt is an attribute that may be written.
func opt(t valueType) attr { return attr{takes: t} }

// or gives an attribute the value that it has where it is not written.
func (a attr) or(v cty.Value) attr { a.unset = v; return a }

func (a attr) orText(s string) attr { return a.or(cty.StringVal(s)) }

func (a attr) orNumber(n int64) attr { return a.or(cty.NumberIntVal(n)) }

func (a attr) orDerived(f derived) attr { a.derive = f; return a }

// observed is an attribute that a device reports.
func observed() attr { return attr{takes: anything(), observed: true} }

// expression is an attribute that is kept as it is written.
func expression() attr { return attr{takes: anything(), raw: true} }

// resource returns the schema of a block that stands for things on devices:
// it has the attributes that all of those have.
func resource(label string, a attrs, b blocks) *schema {
	s := referred(label, a, b)
	s.attrs["protect"] = opt(boolean()).or(cty.False)
	s.attrs["ignore_drift"] = expression()
	return s
}

// referred returns the schema of a block that others can refer to, but that
// leaves nothing on devices.
func referred(label string, a attrs, b blocks) *schema {
	s := &schema{
		label:  label,
		refers: true,
		blocks: b,
		attrs: attrs{
			"for_each":   opt(anything()),
			"count":      opt(anything()),
			"enabled":    opt(boolean()).or(cty.True),
			"depends_on": dependencies(),
		},
	}
	maps.Copy(s.attrs, a)
	return s
}

// constant is the value of an attribute that is not written and follows from
// no other.
func (a attr) constant() cty.Value {
	switch {
	case a.unset != cty.NilVal:
		return a.unset
	case a.needed: // reported with the body
		return cty.DynamicVal
	case a.takes.cty == cty.NilType:
		return cty.NullVal(refType)
	}
	return cty.NullVal(a.takes.cty)
}

// part returns the schema of a block within another.
func part(label string, a attrs, b blocks) *schema {
	return &schema{label: label, attrs: a, blocks: b}
}

// attr returns what the schema says about an attribute.
func (s *schema) attr(name string) (attr, bool) {
	a, known := s.attrs[name]
	if !known && s.open {
		return attr{takes: anything(), private: true}, true
	}
	return a, known
}

// dependencies are what must be there before.
func dependencies() attr { return opt(refs(append(referable(), "module")...)) }

// named says what the label of a block must be.
func (s *schema) named(what, pattern string) *schema {
	t := matching(what, pattern)
	s.names = &t
	return s
}

// checkLabel refuses a label that is not what the schema asks for.
func (s *schema) checkLabel(label string, at hcl.Range) *hcl.Diagnostic {
	if s.names != nil && s.names.check(cty.StringVal(label)) != nil {
		return problem.New(problem.Labels, at, "not "+s.names.name, "%q is not %s.", label, s.names.name)
	}
	if s.names == nil && !goodKey(label) {
		return problem.New(problem.Labels, at, "invalid label", "A label must not be empty, and may contain only printable characters other than quotes and backslashes.")
	}
	return nil
}

// words returns the names that may stand in a body.
func (s *schema) words() []string {
	words := slices.Collect(maps.Keys(s.blocks))
	if len(words) > 0 {
		words = append(words, "dynamic")
	}
	for name, a := range s.attrs {
		if a.written() {
			words = append(words, name)
		}
	}
	return words
}

// written reports whether the attribute may be written in a file.
func (a attr) written() bool { return !a.observed && !a.computed }

// referable returns the types of blocks that can be referred to.
func referable() []string {
	return []string{
		"connection", "credential", "fabric", "switch", "server", "vcenter", "dvswitch", "vm", "link", "pool", "volume",
		"target", "initiator", "validation", "rollout", "site",
	}
}
