package arch

import (
	"go/ast"
	"go/constant"
	"go/types"
	"strings"
)

// An encoded type is one that weft writes as JSON or TOML.
type encoded struct {
	typ   types.Type
	tag   string // json or toml
	place string
}

type sink struct {
	fn    *types.Func
	param int
}

// A finder finds what is written: the static types of the arguments of encoders and of
// the functions that pass an argument on to one.
type finder struct {
	p       *program
	sinks   map[sink]string       // tag
	kinds   map[string]types.Type // "ledger SYSTEM.KIND" → state
	keys    map[string]bool       // lines about objects that are written as maps
	done    map[*ast.CompositeLit]bool
	found   []encoded
	unknown []string
}

// base is the tag of an encoder of a library.
func base(fn *types.Func) (tag string) {
	if fn.Pkg() == nil {
		return ""
	}
	switch path := fn.Pkg().Path(); {
	case path == "encoding/json" && (fn.Name() == "Marshal" || fn.Name() == "MarshalIndent" || fn.Name() == "Encode"):
		return "json"
	case path == "github.com/pelletier/go-toml/v2" && (fn.Name() == "Marshal" || fn.Name() == "Encode"):
		return "toml"
	}
	return ""
}

func callee(info *types.Info, call *ast.CallExpr) *types.Func {
	fun := ast.Unparen(call.Fun)
	switch x := fun.(type) {
	case *ast.IndexExpr:
		fun = x.X
	case *ast.IndexListExpr:
		fun = x.X
	}
	var id *ast.Ident
	switch x := fun.(type) {
	case *ast.Ident:
		id = x
	case *ast.SelectorExpr:
		id = x.Sel
	default:
		return nil
	}
	fn, _ := info.Uses[id].(*types.Func)
	if fn != nil {
		fn = fn.Origin()
	}
	return fn
}

// walk visits all calls until no further function is found to pass values on.
func (f *finder) walk() {
	for again := true; again; {
		n := len(f.sinks)
		f.found, f.unknown, f.done = nil, nil, map[*ast.CompositeLit]bool{}
		for _, s := range f.p.packages {
			if strings.HasPrefix(s.Path(), "weft/internal/lab/") {
				continue // simulators write what devices print
			}
			for _, file := range s.files {
				for _, d := range file.Decls {
					f.decl(s, d)
				}
			}
		}
		again = len(f.sinks) > n
	}
}

func (f *finder) decl(s *source, d ast.Decl) {
	var self *types.Func
	if fd, ok := d.(*ast.FuncDecl); ok {
		self, _ = s.info.Defs[fd.Name].(*types.Func)
	}
	ast.Inspect(d, func(n ast.Node) bool {
		switch x := n.(type) {
		case *ast.CompositeLit:
			f.kind(s, x)
			f.object(s, x)
		case *ast.AssignStmt:
			f.assigned(s, x)
		case *ast.CallExpr:
			fn := callee(s.info, x)
			if fn == nil {
				return true
			}
			if strings.HasPrefix(fn.Name(), "Execute") && strings.HasSuffix(fn.Pkg().Path(), "/template") {
				return false // data of a page
			}
			for i, arg := range x.Args {
				tag := f.sinks[sink{fn, i}]
				if i == 0 && tag == "" {
					tag = base(fn)
				}
				if tag != "" {
					f.argument(s, self, arg, tag)
				}
			}
		}
		return true
	})
}

// kind notes a literal of host.Kind: exported fields of its state are names in ledgers.
func (f *finder) kind(s *source, lit *ast.CompositeLit) {
	named, ok := s.info.TypeOf(lit).(*types.Named)
	if !ok || named.Obj().Name() != "Kind" || named.Obj().Pkg().Path() != "weft/modules/host" || named.TypeArgs() == nil {
		return
	}
	for _, e := range lit.Elts {
		kv, ok := e.(*ast.KeyValueExpr)
		if !ok || kv.Key.(*ast.Ident).Name != "Name" {
			continue
		}
		if v := s.info.Types[kv.Value].Value; v != nil {
			system := strings.Split(s.Path(), "/")[2]
			f.kinds["ledger "+system+"."+constant.StringVal(v)] = named.TypeArgs().At(0)
		}
	}
}

// object notes the keys of a map[string]any, and of the data of an event by its type.
func (f *finder) object(s *source, lit *ast.CompositeLit) {
	about := "object"
	if n, ok := s.info.TypeOf(lit).(*types.Named); ok && n.Obj().Name() == "Event" && n.Obj().Pkg().Path() == "weft/plan" {
		for _, e := range lit.Elts {
			kv := e.(*ast.KeyValueExpr)
			switch name := kv.Key.(*ast.Ident).Name; {
			case name == "Type" && s.info.Types[kv.Value].Value != nil:
				about = "event " + constant.StringVal(s.info.Types[kv.Value].Value)
			case name == "Data":
				lit, ok = ast.Unparen(kv.Value).(*ast.CompositeLit)
			}
		}
		if !ok {
			return
		}
	}
	if !loose(s.info.TypeOf(lit)) || f.done[lit] {
		return
	}
	f.done[lit] = true // the data of an event come after the event
	for _, e := range lit.Elts {
		kv := e.(*ast.KeyValueExpr)
		f.member(s, about, kv.Key, kv.Value)
	}
}

func (f *finder) assigned(s *source, a *ast.AssignStmt) {
	for i, left := range a.Lhs {
		if at, ok := left.(*ast.IndexExpr); ok && len(a.Lhs) == len(a.Rhs) && loose(s.info.TypeOf(at.X)) {
			f.member(s, "object", at.Index, a.Rhs[i])
		}
	}
}

func (f *finder) member(s *source, about string, key, value ast.Expr) {
	switch s.Path() {
	case "weft/internal/page", "weft/internal/discover":
		return // for templates, and devices by address
	}
	t := s.info.TypeOf(value)
	if _, ok := t.(*types.Signature); ok {
		return // a function of a template
	}
	if v := s.info.Types[key].Value; v != nil {
		f.keys[about+" "+constant.StringVal(v)+" "+shape(t)] = true
	}
	if t = element(t); isStruct(t) {
		f.found = append(f.found, encoded{t, "json", s.Path()})
	}
}

func loose(t types.Type) bool {
	m, ok := t.Underlying().(*types.Map)
	return ok && types.Identical(m.Elem(), types.Universe.Lookup("any").Type()) && types.Identical(m.Key(), types.Typ[types.String])
}

func isStruct(t types.Type) bool {
	_, ok := t.Underlying().(*types.Struct)
	return ok
}

// element is the type that pointers, slices and maps of it come down to.
func element(t types.Type) types.Type {
	for {
		switch x := t.(type) {
		case *types.Pointer:
			t = x.Elem()
		case *types.Slice:
			t = x.Elem()
		case *types.Array:
			t = x.Elem()
		case *types.Map:
			t = x.Elem()
		default:
			return t
		}
	}
}

func (f *finder) argument(s *source, self *types.Func, arg ast.Expr, tag string) {
	arg = ast.Unparen(arg)
	if loose(s.info.TypeOf(arg)) {
		return // its keys are listed where they are set
	}
	t := element(s.info.TypeOf(arg))
	name := "a literal"
	if self != nil {
		name = s.Path() + "." + self.Name()
	}
	if tp, ok := t.(*types.TypeParam); ok {
		f.unknown = append(f.unknown, name+" type parameter "+tp.String())
		return
	}
	if types.IsInterface(t) {
		if id, ok := arg.(*ast.Ident); ok && self != nil {
			params := self.Signature().Params()
			for i := range params.Len() {
				if params.At(i) == s.info.Uses[id] {
					f.sinks[sink{self, i}] = tag
					return
				}
			}
		}
		f.unknown = append(f.unknown, name+" "+f.p.at(arg))
		return
	}
	if isStruct(t) {
		f.found = append(f.found, encoded{t, tag, name})
	}
}
