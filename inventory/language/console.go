package language

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"weft/inventory"
	"weft/inventory/problem"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/hclwrite"
	"github.com/zclconf/go-cty/cty"
)

// EvaluateText computes an expression that stands in none of the files, as
// an attribute of one of them would be. name and start say where it comes
// from. Observed values are not known here, which is an error where they are
// used. It works on a model without any blocks as well, and must not be
// called concurrently.
func EvaluateText(m *inventory.Model, src []byte, name string, start hcl.Pos) (Result, hcl.Diagnostics) {
	if d := tooDeep(src, name); d != nil {
		d.Subject = &hcl.Range{Filename: name, Start: start, End: start}
		return Result{}, hcl.Diagnostics{d}
	}
	x, diags := hclsyntax.ParseExpression(src, name, start)
	if diags.HasErrors() {
		return Result{}, problem.Coded(problem.Syntax, diags)
	}
	e := m.Evaluator.(*evaluator) // Load has put it there
	known, errs, warnings := len(e.diags), e.errors, e.warnings
	e.afresh()
	v, diags := e.lazy(x).Value(e.withObserved(notHere))
	// What is asked for the first time may be wrong itself: attributes of
	// blocks that are not enabled, for example.
	diags = append(diags, e.diags[known:]...)
	e.diags, e.errors, e.warnings = e.diags[:known], errs, warnings
	if !diags.HasErrors() && !v.IsWhollyKnown() {
		diags = append(diags, problem.New(problem.Expr, x.Range(), "no value", "This depends on a value with an error shown above."))
	}
	if diags = problem.Coded(problem.Expr, diags); diags.HasErrors() {
		return Result{}, diags
	}
	return Result{v}, diags
}

// notHere stands in for what only devices know.
func notHere(string, string) (cty.Value, error) {
	return cty.NilVal, errors.New("this is an observed value, and no device is read here")
}

// A Result is a value as it may be shown: what is sensitive in it stays
// hidden, and a reference is the address of what it leads to.
type Result struct{ value cty.Value }

// Shown is a value that Evaluate gave, as it may be shown.
func Shown(v cty.Value) Result { return Result{v} }

const hidden = "(sensitive)"

// oneLine is how long a list may be that stands in one line.
const oneLine = 80

// HCL returns the value as it would be written in a file, without a new line
// at the end.
func (r Result) HCL() string {
	var b bytes.Buffer
	writeHCL(&b, r.value, 0)
	return string(hclwrite.Format(b.Bytes()))
}

func writeHCL(b *bytes.Buffer, v cty.Value, depth int) {
	ty := v.Type()
	switch {
	case v.IsMarked():
		b.WriteString(hidden)
	case v.IsNull():
		b.WriteString("null")
	case ty == refType:
		b.WriteString(v.EncapsulatedValue().(*object).addr)
	case isInfinite(v):
		fmt.Fprintf(b, "%d / 0", v.AsBigFloat().Sign())
	case ty.IsSetType():
		b.WriteString("toset(")
		writeList(b, v, depth)
		b.WriteString(")")
	case ty.IsTupleType() || ty.IsListType():
		writeList(b, v, depth)
	case ty.IsObjectType() || ty.IsMapType():
		writeObject(b, v, depth)
	default:
		b.Write(hclwrite.TokensForValue(v).Bytes())
	}
}

// writeList writes a short list in one line, a longer one with a line for
// each item.
func writeList(b *bytes.Buffer, v cty.Value, depth int) {
	var items []string
	length := 0
	for it := v.ElementIterator(); it.Next(); {
		_, item := it.Element()
		var text bytes.Buffer
		writeHCL(&text, item, depth+1)
		items = append(items, text.String())
		length += text.Len() + 2
	}
	if text := strings.Join(items, ", "); length <= oneLine && !strings.Contains(text, "\n") {
		b.WriteString("[" + text + "]")
		return
	}
	b.WriteString("[\n")
	for _, item := range items {
		b.WriteString(indent(depth+1) + item + ",\n")
	}
	b.WriteString(indent(depth) + "]")
}

func writeObject(b *bytes.Buffer, v cty.Value, depth int) {
	if v.LengthInt() == 0 {
		b.WriteString("{}")
		return
	}
	b.WriteString("{\n")
	for it := v.ElementIterator(); it.Next(); {
		key, item := it.Element()
		b.WriteString(indent(depth + 1))
		if name := key.AsString(); isName(name) {
			b.WriteString(name)
		} else {
			writeHCL(b, key, depth)
		}
		b.WriteString(" = ")
		writeHCL(b, item, depth+1)
		b.WriteString("\n")
	}
	b.WriteString(indent(depth) + "}")
}

// isInfinite reports whether a value is what a division by zero yields.
func isInfinite(v cty.Value) bool { return v.Type() == cty.Number && v.AsBigFloat().IsInf() }

func indent(depth int) string { return strings.Repeat("  ", depth) }

// MarshalJSON returns the value as JSON. References and what is hidden are
// texts.
func (r Result) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(plain(r.value))
	return bytes.TrimSpace(b.Bytes()), err
}

// plain is a value as encoding/json takes it.
func plain(v cty.Value) any {
	ty := v.Type()
	switch {
	case v.IsMarked():
		return hidden
	case v.IsNull():
		return nil
	case ty == refType:
		return v.EncapsulatedValue().(*object).addr
	case ty == cty.String:
		return v.AsString()
	case ty == cty.Bool:
		return v.True()
	case isInfinite(v):
		return v.AsBigFloat().String() // JSON has no such number
	case ty == cty.Number:
		return json.Number(v.AsBigFloat().Text('f', -1))
	case ty.IsObjectType() || ty.IsMapType():
		object := map[string]any{}
		for it := v.ElementIterator(); it.Next(); {
			key, item := it.Element()
			object[key.AsString()] = plain(item)
		}
		return object
	}
	list := []any{}
	for it := v.ElementIterator(); it.Next(); {
		_, item := it.Element()
		list = append(list, plain(item))
	}
	return list
}
