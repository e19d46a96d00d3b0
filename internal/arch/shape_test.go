package arch

import (
	"fmt"
	"go/types"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// A shaper lists the members of types as encoders write them, without the names of Go.
type shaper struct {
	tag   string
	names map[string]string     // of the types that are listed on their own
	seen  map[types.Object]bool // all that are listed
	lines []string
}

// shape is how a value is written: string, int, bool, []string, {} of a map or a struct.
func shape(t types.Type) string {
	if own := written(t); own != "" {
		return own
	}
	switch x := t.Underlying().(type) {
	case *types.Pointer:
		return shape(x.Elem())
	case *types.Slice:
		if b, ok := x.Elem().Underlying().(*types.Basic); ok && b.Kind() == types.Byte {
			return "base64"
		}
		return "[]" + shape(x.Elem())
	case *types.Array:
		return "[]" + shape(x.Elem())
	case *types.Map:
		return "{" + shape(x.Key()) + "}" + shape(x.Elem())
	case *types.Struct:
		return "object"
	case *types.Basic:
		switch {
		case x.Info()&types.IsInteger != 0:
			return "int"
		case x.Info()&types.IsFloat != 0:
			return "float"
		}
		return strings.TrimPrefix(x.String(), "untyped ")
	}
	return "any"
}

// written is what a type with an encoder of its own is written as; "": it has none.
func written(t types.Type) string {
	t = types.Unalias(t)
	if n, ok := t.(*types.Named); ok && n.Obj().Pkg() != nil {
		switch n.Obj().Pkg().Path() + "." + n.Obj().Name() {
		case "time.Time":
			return "time"
		case "encoding/json.RawMessage":
			return "raw"
		}
	}
	if _, ok := t.Underlying().(*types.Interface); ok {
		return ""
	}
	if p, ok := t.(*types.Pointer); ok {
		return written(p.Elem())
	}
	for name, as := range map[string]string{"MarshalJSON": "custom", "MarshalText": "text"} {
		o, _, _ := types.LookupFieldOrMethod(t, true, nil, name)
		if fn, ok := o.(*types.Func); ok && fn.Exported() {
			return as
		}
	}
	return ""
}

func (s *shaper) list(path string, t types.Type, above []types.Object) {
	t = types.Unalias(element(t))
	for written(t) == "" {
		under := element(t.Underlying()) // a named list or map
		if types.Identical(under, t.Underlying()) {
			break
		}
		t = types.Unalias(under)
	}
	if n, ok := t.(*types.Named); ok {
		if n.Obj().Pkg() == nil || !strings.HasPrefix(n.Obj().Pkg().Path(), "weft/") {
			return
		}
		if own := s.names[n.String()]; own != "" && len(above) > 0 {
			s.lines = append(s.lines, path+" = "+own)
			return
		}
		s.seen[n.Obj()] = true
		if slices.Contains(above, types.Object(n.Obj())) {
			s.lines = append(s.lines, path+" ...")
			return
		}
		above = append(above[:len(above):len(above)], n.Obj())
	}
	st, ok := t.Underlying().(*types.Struct)
	if !ok || written(t) != "" {
		return
	}
	for i := range st.NumFields() {
		f := st.Field(i)
		tag := reflect.StructTag(st.Tag(i)).Get(s.tag)
		name, options, _ := strings.Cut(tag, ",")
		switch {
		case tag == "-" || !f.Exported() && !f.Embedded():
			continue
		case f.Embedded() && name == "" && isStruct(element(f.Type())) && written(f.Type()) == "":
			s.list(path, f.Type(), above)
			continue
		case !f.Exported():
			continue
		case name == "":
			name = f.Name()
		}
		line := fmt.Sprintf("%s.%s %s", path, name, shape(f.Type()))
		if options != "" {
			line += " " + options
		}
		s.lines = append(s.lines, line)
		s.list(path+"."+name, f.Type(), above)
	}
}

func sorted(set map[string]bool) []string { return slices.Sorted(maps.Keys(set)) }
