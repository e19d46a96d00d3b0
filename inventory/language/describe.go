package language

import (
	"encoding/json"
	"slices"

	"weft/internal/slice"
	"weft/inventory"

	"github.com/hashicorp/hcl/v2/ext/typeexpr"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
	ctyjson "github.com/zclconf/go-cty/cty/json"
)

// A Language is every word that files may hold, made of the very tables that
// Load checks files against.
type Language struct {
	Format    int                   `json:"format"` // of this description
	Version   string                `json:"language_version"`
	Blocks    map[string]*BlockType `json:"blocks"`
	Functions map[string]*Function  `json:"functions,omitempty"`
}

// A BlockType is what a block of one type may hold.
type BlockType struct {
	Label       string                `json:"label,omitempty"` // what its one label stands for; "": it takes none
	Description string                `json:"description,omitempty"`
	Required    bool                  `json:"required,omitempty"`
	Several     bool                  `json:"several,omitempty"`       // more than one may stand in one place
	Referable   bool                  `json:"referable,omitempty"`     // an expression can name it
	Open        bool                  `json:"any_attribute,omitempty"` // takes attributes of any name
	Attributes  map[string]*Attribute `json:"attributes,omitempty"`
	Dynamic     bool                  `json:"dynamic,omitempty"` // its blocks may come from dynamic blocks
	Blocks      map[string]*BlockType `json:"blocks,omitempty"`
	Later       bool                  `json:"not_yet_managed,omitempty"` // plan refuses it
}

// An Attribute is what one attribute takes, or gives.
type Attribute struct {
	Type           string          `json:"type"`  // string, number, bool, list(…), map(…), any, reference or references
	Takes          string          `json:"takes"` // the same for people, with limits and units
	Description    string          `json:"description,omitempty"`
	Required       bool            `json:"required,omitempty"`
	Default        json.RawMessage `json:"default,omitempty"`
	Derived        bool            `json:"derived,omitempty"`   // where it is not written, it follows from other attributes
	ReadOnly       bool            `json:"read_only,omitempty"` // it cannot be written
	Observed       bool            `json:"observed,omitempty"`  // devices tell it: for outputs and checks only
	Sensitive      bool            `json:"sensitive,omitempty"` // never shown, and read when it is needed
	TakesSensitive bool            `json:"takes_sensitive,omitempty"`
	Values         []string        `json:"values,omitempty"`                 // all there are
	LaterValues    []string        `json:"values_not_yet_managed,omitempty"` // refused, at the latest by plan
	RefersTo       []string        `json:"refers_to,omitempty"`              // types of blocks
	Later          bool            `json:"not_yet_managed,omitempty"`        // plan refuses it
}

// A Function can be called in expressions.
type Function struct {
	Description string      `json:"description,omitempty"`
	Parameters  []Parameter `json:"parameters,omitempty"`
}

// A Parameter is what a function takes in one place.
type Parameter struct {
	Name    string `json:"name"`
	Type    string `json:"type"`
	Several bool   `json:"several,omitempty"` // any number of arguments; the last parameter only
}

// Describe returns the language, with the blocks that kinds declare for themselves.
func Describe(own []*inventory.BlockType) *Language {
	d := describer{words: descriptions(), later: map[string]bool{}}
	for _, t := range own {
		d.words["server."+t.Name] = t.About
		for _, a := range t.Attributes {
			d.words["server."+t.Name+"."+a.Name] = a.About
		}
	}
	for _, path := range unmanaged() {
		d.later[path] = true
	}
	l := &Language{Format: 1, Version: Version, Blocks: map[string]*BlockType{}, Functions: map[string]*Function{}}
	for name, s := range language(own) {
		b := d.block(name, nested{schema: s})
		b.Required = name == "weft"
		b.Several = name != "weft" && name != "store"
		l.Blocks[name] = b
	}
	for name, f := range functions((&evaluator{}).newOutside(nil, nil)) {
		l.Functions[name] = describeFunction(f)
	}
	return l
}

type describer struct {
	words map[string]string // by path: fabric.plane.subnet
	later map[string]bool   // by path, too
}

func (d describer) block(path string, n nested) *BlockType {
	b := &BlockType{
		Label:       n.label,
		Description: d.words[path],
		Required:    n.needed,
		Several:     n.many || n.label != "",
		Referable:   n.refers,
		Open:        n.open || n.attrs == nil,
		Dynamic:     slices.Contains(n.words(), "dynamic"),
		Later:       d.later[path],
		Attributes:  map[string]*Attribute{},
		Blocks:      map[string]*BlockType{},
	}
	for name, a := range n.attrs {
		at := path + "." + name
		if common := "*." + name; n.refers && d.words[common] != "" {
			at = common
		}
		b.Attributes[name] = d.attribute(at, a)
	}
	for name, inner := range n.blocks {
		b.Blocks[name] = d.block(path+"."+name, inner)
	}
	return b
}

func (d describer) attribute(path string, a attr) *Attribute {
	t := a.takes
	described := &Attribute{
		Description:    d.words[path],
		Type:           typeName(t.cty),
		Takes:          t.name,
		Required:       a.needed,
		Derived:        a.derive != nil,
		ReadOnly:       !a.written(),
		Observed:       a.observed,
		Sensitive:      a.secret,
		TakesSensitive: a.private,
		Values:         t.words,
		LaterValues:    slices.Clone(t.later),
		RefersTo:       t.refs,
		Later:          d.later[path],
	}
	for _, word := range t.words {
		if d.later[path+"="+word] {
			described.LaterValues = append(described.LaterValues, word)
		}
	}
	switch {
	case t.cty == cty.NilType && t.many:
		described.Type = "references"
	case t.cty == cty.NilType:
		described.Type = "reference"
	}
	if a.unset != cty.NilVal {
		if text, err := ctyjson.Marshal(a.unset, a.unset.Type()); err == nil {
			described.Default = text
		}
	}
	return described
}

func describeFunction(f function.Function) *Function {
	described := &Function{Description: f.Description()}
	described.Parameters = slice.Map(f.Params(), func(p function.Parameter) Parameter { return Parameter{Name: p.Name, Type: typeName(p.Type)} })
	if p := f.VarParam(); p != nil {
		described.Parameters = append(described.Parameters, Parameter{Name: p.Name, Type: typeName(p.Type), Several: true})
	}
	return described
}

// typeName writes a type as a variable's type is written.
func typeName(ty cty.Type) string {
	if ty == cty.NilType || ty.IsCapsuleType() {
		return "any"
	}
	return typeexpr.TypeString(ty)
}
