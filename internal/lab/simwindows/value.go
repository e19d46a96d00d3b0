//go:build unix

package simwindows

import (
	"bytes"
	"context"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"weft/internal/slice"
)

// Values are nil, string, int64, bool, []byte, []any, *object and moment.

// An object has fields, whose names have no case.
type object struct {
	kind   string
	fields []fieldOf
}

type fieldOf struct {
	name  string
	value any
}

// made is an object of fields by name and value.
func made(kind string, pairs ...any) *object {
	o := &object{kind: kind}
	for i := 0; i < len(pairs); i += 2 {
		o.fields = append(o.fields, fieldOf{pairs[i].(string), pairs[i+1]})
	}
	return o
}

func (o *object) field(name string) any {
	for _, f := range o.fields {
		if strings.EqualFold(f.name, name) {
			return f.value
		}
	}
	return nil
}

// A thrown error is one that scripts may catch.
type thrown struct{ message, id, kind string }

func (t *thrown) Error() string { return t.message }

// raise is an exception of .NET that a method has thrown.
func raise(kind, format string, args ...any) *thrown {
	_, short := kind[:strings.LastIndex(kind, ".")+1], kind[strings.LastIndex(kind, ".")+1:]
	return &thrown{message: fmt.Sprintf(format, args...), id: short, kind: kind}
}

// A frame is where a script runs.
type frame struct {
	host   *Host
	ctx    context.Context // of the session
	vars   map[string]any
	out    []any
	errors []*thrown // that are being handled

	user     string // who runs it
	elevated bool
	printed  bytes.Buffer // on standard output
}

func (f *frame) get(name string) any {
	switch name = strings.ToLower(name); name {
	case "true", "false":
		return name == "true"
	case "null":
		return nil
	case "_":
		if len(f.errors) == 0 {
			return nil
		}
		e := f.errors[len(f.errors)-1]
		return made("ErrorRecord", "Exception", made("Exception", "Message", e.message, "kind", e.kind), "FullyQualifiedErrorId", e.id)
	}
	return f.vars[name]
}

func (f *frame) set(name string, v any) {
	if name = strings.ToLower(name); name != "null" {
		f.vars[name] = v
	}
}

// caught is the error that is being handled, thrown again.
func (f *frame) caught() error {
	if len(f.errors) == 0 {
		return raise("System.Management.Automation.RuntimeException", "ScriptHalted")
	}
	return f.errors[len(f.errors)-1]
}

// write gives a value to the output, a list one by one.
func (f *frame) write(v any) {
	if v == nil {
		return
	}
	f.out = append(f.out, each(v)...)
}

func (f *frame) outputOf(s stmt) (list []any, err error) {
	before := f.out
	f.out = nil
	err = s(f)
	list, f.out = f.out, before
	return list, err
}

func each(v any) []any {
	switch v := v.(type) {
	case nil:
		return nil
	case []any:
		return v
	}
	return []any{v}
}

// truth is what PowerShell takes a value for: about_Booleans.
func truth(v any) bool {
	switch v := v.(type) {
	case nil:
		return false
	case bool:
		return v
	case string:
		return v != ""
	case int64:
		return v != 0
	case []any:
		return len(v) > 1 || len(v) == 1 && truth(v[0])
	}
	return true
}

// text is a value as [string] makes it.
func text(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	case bool:
		if v {
			return "True"
		}
		return "False"
	case int64:
		return strconv.FormatInt(v, 10)
	case []any:
		words := slice.Map(v, text)
		return strings.Join(words, " ")
	case *object:
		return v.kind
	}
	return fmt.Sprint(v)
}

func cast(kind string, v any) (any, error) {
	switch strings.ToLower(kind) {
	case "string":
		return text(v), nil
	case "bool":
		return truth(v), nil
	case "int", "int64":
		switch v := v.(type) {
		case nil:
			return int64(0), nil
		case int64:
			return v, nil
		case bool:
			if v {
				return int64(1), nil
			}
			return int64(0), nil
		case string:
			if n, err := strconv.ParseInt(strings.TrimSpace(v), 10, 64); err == nil {
				return n, nil
			}
		}
		return nil, raise("System.Management.Automation.PSInvalidCastException", "Cannot convert value %q to type %q. Error: %q", text(v), "System.Int32", "Input string was not in a correct format.")
	}
	return nil, raise("System.Management.Automation.RuntimeException", "Unable to find type [%s].", kind)
}

// plus takes its type from the left one: about_Arithmetic_Operators.
func plus(a, b any) (any, error) {
	switch a := a.(type) {
	case nil:
		return b, nil
	case string:
		return a + text(b), nil
	case []any:
		return append(append([]any{}, a...), each(b)...), nil
	case int64:
		n, err := cast("int64", b)
		if err != nil {
			return nil, err
		}
		return a + n.(int64), nil
	}
	return nil, raise("System.Management.Automation.RuntimeException", "Method invocation failed because [%s] does not contain a method named 'op_Addition'.", text(a))
}

func minus(a, b any) (any, error) {
	x, err := cast("int64", a)
	if err != nil {
		return nil, err
	}
	y, err := cast("int64", b)
	if err != nil {
		return nil, err
	}
	return x.(int64) - y.(int64), nil
}

// operate compares without regard to case: about_Comparison_Operators.
func operate(op string, a, b any) (any, error) {
	switch op {
	case "and", "or":
		return truth(b), nil
	case "match":
		re, err := regexp.Compile("(?i)" + text(b))
		if err != nil {
			return nil, raise("System.ArgumentException", "parsing %q: %v", text(b), err)
		}
		return re.MatchString(text(a)), nil
	case "eq", "ne":
		same := a == nil && b == nil || a != nil && b != nil && strings.EqualFold(text(a), text(b))
		return same == (op == "eq"), nil
	}
	x, err := cast("int64", a)
	if err != nil {
		return nil, err
	}
	y, err := cast("int64", b)
	if err != nil {
		return nil, err
	}
	n, m := x.(int64), y.(int64)
	return map[string]bool{"gt": n > m, "ge": n >= m, "lt": n < m, "le": n <= m}[op], nil
}

// property is a field of an object; one that it does not have is nothing.
func property(v any, name string) (any, error) {
	switch v := v.(type) {
	case *object:
		return v.field(name), nil
	case *pipeOf:
		if strings.EqualFold(name, "BaseStream") {
			return v, nil
		}
	case string:
		if strings.EqualFold(name, "Length") {
			return int64(len(v)), nil
		}
	case []byte:
		if strings.EqualFold(name, "Length") {
			return int64(len(v)), nil
		}
	case []any:
		if strings.EqualFold(name, "Count") || strings.EqualFold(name, "Length") {
			return int64(len(v)), nil
		}
	}
	return nil, nil
}
