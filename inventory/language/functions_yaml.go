package language

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"strings"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
	"go.yaml.in/yaml/v3"
)

// yamlFunction makes a value of a YAML document, as jsondecode does of JSON.
func yamlFunction() function.Function {
	return function.New(&function.Spec{
		Params: []function.Parameter{{Name: "text", Type: cty.String}},
		Type: func(args []cty.Value) (cty.Type, error) {
			if !args[0].IsKnown() {
				return cty.DynamicPseudoType, nil
			}
			v, err := decodeYAML(args[0].AsString())
			return v.Type(), err
		},
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			return decodeYAML(args[0].AsString())
		},
	})
}

// maxYAML bounds the parts of a document with all aliases written out: a few
// lines can stand for more than any memory holds.
const maxYAML = 100_000

func decodeYAML(text string) (cty.Value, error) {
	d := yaml.NewDecoder(strings.NewReader(text))
	var doc, more yaml.Node
	switch err := d.Decode(&doc); {
	case errors.Is(err, io.EOF):
		return cty.NullVal(cty.DynamicPseudoType), nil
	case err != nil:
		return cty.DynamicVal, fmt.Errorf("not YAML: %s", classifyYAML(err))
	}
	if err := d.Decode(&more); !errors.Is(err, io.EOF) {
		return cty.DynamicVal, errors.New("not YAML: more than one document")
	}
	v, err := (&yamlReader{}).value(&doc, 0)
	if err != nil {
		return cty.DynamicVal, err
	}
	return v, nil
}

// classifyYAML is the text of a syntax error without the name of the library. go.yaml.in/yaml/v3 v3.0.6 has
// no type for such errors.
func classifyYAML(err error) string { return strings.TrimPrefix(err.Error(), "yaml: ") }

type yamlReader struct{ parts int }

func (r *yamlReader) value(n *yaml.Node, depth int) (cty.Value, error) {
	r.parts++
	switch {
	case r.parts > maxYAML:
		return cty.NilVal, fmt.Errorf("the document has more than %d parts with its aliases", maxYAML)
	case depth > maxNesting:
		return cty.NilVal, fmt.Errorf("line %d is nested more than %d deep", n.Line, maxNesting)
	}
	switch n.Kind {
	case yaml.DocumentNode:
		return r.value(n.Content[0], depth)
	case yaml.AliasNode:
		return r.value(n.Alias, depth+1)
	case yaml.SequenceNode:
		items := make([]cty.Value, len(n.Content))
		for i, c := range n.Content {
			v, err := r.value(c, depth+1)
			if err != nil {
				return cty.NilVal, err
			}
			items[i] = v
		}
		return cty.TupleVal(items), nil
	case yaml.MappingNode:
		object, err := r.mapping(n, depth)
		if err != nil {
			return cty.NilVal, err
		}
		return cty.ObjectVal(object), nil
	}
	return yamlScalar(n)
}

// mapping reads keys and values; those of << give way to those written out.
func (r *yamlReader) mapping(n *yaml.Node, depth int) (map[string]cty.Value, error) {
	object, merged := map[string]cty.Value{}, map[string]cty.Value{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if key.Kind == yaml.AliasNode {
			key = key.Alias
		}
		if key.Kind == yaml.ScalarNode && key.ShortTag() == "!!merge" {
			if err := r.merge(value, depth+1, merged); err != nil {
				return nil, err
			}
			continue
		}
		if key.Kind != yaml.ScalarNode || key.ShortTag() == "!!null" {
			return nil, fmt.Errorf("line %d: a key is not a string", key.Line)
		}
		if _, twice := object[key.Value]; twice {
			return nil, fmt.Errorf("line %d: duplicate key", key.Line)
		}
		v, err := r.value(value, depth+1)
		if err != nil {
			return nil, err
		}
		object[key.Value] = v
	}
	maps.Copy(merged, object)
	return merged, nil
}

// merge reads the value of <<: a mapping, or a list of them with the first one
// winning.
func (r *yamlReader) merge(n *yaml.Node, depth int, into map[string]cty.Value) error {
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	list := []*yaml.Node{n}
	if n.Kind == yaml.SequenceNode {
		list = n.Content
	}
	for _, c := range list {
		v, err := r.value(c, depth)
		if err != nil {
			return err
		}
		if !v.Type().IsObjectType() {
			return fmt.Errorf("line %d: a merged value is not a mapping", c.Line)
		}
		for key, item := range v.AsValueMap() {
			if _, there := into[key]; !there {
				into[key] = item
			}
		}
	}
	return nil
}

func yamlScalar(n *yaml.Node) (cty.Value, error) {
	switch n.ShortTag() {
	case "!!null":
		return cty.NullVal(cty.DynamicPseudoType), nil
	case "!!bool":
		var b bool
		if err := n.Decode(&b); err != nil {
			return cty.NilVal, fmt.Errorf("line %d: not true or false", n.Line)
		}
		return cty.BoolVal(b), nil
	case "!!int", "!!float":
		return yamlNumber(n)
	}
	return cty.StringVal(n.Value), nil
}

func yamlNumber(n *yaml.Node) (cty.Value, error) {
	if hugeNumber(n.Value) {
		return cty.NilVal, fmt.Errorf("line %d: a number is too large", n.Line)
	}
	octal := strings.HasPrefix(strings.TrimLeft(n.Value, "+-"), "0") && n.ShortTag() == "!!int"
	if v, err := cty.ParseNumberVal(n.Value); err == nil && !octal {
		return v, nil
	}
	var i int64
	if n.ShortTag() == "!!int" && n.Decode(&i) == nil {
		return cty.NumberIntVal(i), nil
	}
	var f float64
	if err := n.Decode(&f); err != nil || f != f || f-f != 0 {
		return cty.NilVal, fmt.Errorf("line %d: not a number", n.Line)
	}
	return cty.NumberFloatVal(f), nil
}
