package arch

import (
	"go/ast"
	"go/types"
	"slices"
	"strings"
	"testing"
)

// classifiers returns the functions that may read the text of an error, because the library that
// made it offers no typed error. Each has a test that fails when the library's text changes.
func classifiers() map[string]bool {
	return map[string]bool{
		"weft/internal/remote/ssh.classifySSH":    true,
		"weft/internal/store/nats.classifyDenial": true,
		"weft/inventory/language.classifyYAML":    true,
	}
}

// parsesText returns the functions of package strings that take a text apart.
func parsesText() []string {
	return []string{"Cut", "CutPrefix", "CutSuffix", "HasPrefix", "HasSuffix", "Contains", "ContainsAny", "ContainsRune", "ContainsFunc",
		"Index", "IndexAny", "IndexByte", "IndexFunc", "IndexRune", "LastIndex", "LastIndexAny", "LastIndexByte", "LastIndexFunc",
		"Split", "SplitN", "SplitAfter", "SplitAfterN", "SplitSeq", "SplitAfterSeq", "Fields", "FieldsFunc", "FieldsSeq", "EqualFold",
		"Trim", "TrimFunc", "TrimLeft", "TrimLeftFunc", "TrimPrefix", "TrimRight", "TrimRightFunc", "TrimSpace", "TrimSuffix"}
}

// checkParsedErrors finds code that takes the text of an error apart. Packages of checks for tests may.
func checkParsedErrors(t *testing.T, all []*typed) {
	allowed := classifiers()
	for _, p := range all {
		if strings.HasSuffix(p.path, "test") {
			continue
		}
		for _, f := range p.files {
			for _, d := range f.Decls {
				fn, ok := d.(*ast.FuncDecl)
				if !ok || fn.Body == nil || allowed[p.path+"."+fn.Name.Name] {
					continue
				}
				for _, call := range parsedErrors(p, fn.Body) {
					t.Errorf("%s: the text of an error is taken apart: use a typed error, or a classifier of a library without one", p.at(call))
				}
			}
		}
	}
}

// parsedErrors are the calls that take the text of an error apart: the result of Error(), or a
// variable that it is assigned to.
func parsedErrors(p *typed, body ast.Node) (calls []*ast.CallExpr) {
	texts := map[types.Object]bool{}
	isText := func(e ast.Expr) bool {
		found := false
		ast.Inspect(e, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.CallExpr:
				found = found || isErrorText(p, n)
			case *ast.Ident:
				found = found || texts[p.info.Uses[n]]
			}
			return !found
		})
		return found
	}
	for range 2 { // a variable may be assigned from another one
		ast.Inspect(body, func(n ast.Node) bool {
			a, ok := n.(*ast.AssignStmt)
			if !ok {
				return true
			}
			for i, right := range a.Rhs {
				if len(a.Lhs) != len(a.Rhs) || !isString(p.info.TypeOf(right)) || !isText(right) {
					continue
				}
				if id, ok := a.Lhs[i].(*ast.Ident); ok {
					if o := p.info.Defs[id]; o != nil {
						texts[o] = true
					} else if o := p.info.Uses[id]; o != nil {
						texts[o] = true
					}
				}
			}
			return true
		})
	}
	ast.Inspect(body, func(n ast.Node) bool {
		c, ok := n.(*ast.CallExpr)
		if !ok || len(c.Args) == 0 {
			return true
		}
		if takesApart(p, c) && slices.ContainsFunc(c.Args, isText) {
			calls = append(calls, c)
		}
		return true
	})
	return calls
}

// takesApart reports whether a call is one of parsesText, or matches a regular expression.
func takesApart(p *typed, c *ast.CallExpr) bool {
	sel, ok := c.Fun.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	fn, ok := p.info.Uses[sel.Sel].(*types.Func)
	if !ok || fn.Pkg() == nil {
		return false
	}
	switch fn.Pkg().Path() {
	case "strings":
		return slices.Contains(parsesText(), fn.Name())
	case "regexp":
		return strings.HasPrefix(fn.Name(), "Match") || strings.HasPrefix(fn.Name(), "Find")
	}
	return false
}

// isErrorText reports whether a call is the method Error of an error.
func isErrorText(p *typed, c *ast.CallExpr) bool {
	sel, ok := c.Fun.(*ast.SelectorExpr)
	if !ok || sel.Sel.Name != "Error" || len(c.Args) > 0 {
		return false
	}
	x := p.info.TypeOf(sel.X)
	err := types.Universe.Lookup("error").Type().Underlying().(*types.Interface)
	return x != nil && (types.Implements(x, err) || types.Implements(types.NewPointer(x), err))
}

func isString(x types.Type) bool {
	if x == nil {
		return false
	}
	b, ok := x.Underlying().(*types.Basic)
	return ok && b.Info()&types.IsString != 0
}
