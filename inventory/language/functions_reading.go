package language

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"unicode/utf8"

	"weft/inventory/problem"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
	"github.com/zclconf/go-cty/cty/function"
)

// An outside is what functions see beyond the inventory.
type outside struct {
	e         *evaluator
	dir       string // that paths start from
	fsys      fs.FS
	env       func(string) (string, bool)
	templates map[string]*template
	read      map[string][]byte // every file that was read
}

func (e *evaluator) newOutside(fsys fs.FS, env func(string) (string, bool)) *outside {
	return &outside{e: e, dir: ".", fsys: fsys, env: env, templates: map[string]*template{}, read: map[string][]byte{}}
}

// in is the same for functions in the files of another directory.
func (r *outside) in(dir string) *outside {
	there := *r
	there.dir = dir
	return &there
}

// path is where a file lies that a function names.
func (r *outside) path(name string) string {
	if path.IsAbs(name) {
		return name // refused when it is read
	}
	return path.Join(r.dir, name)
}

func (r *outside) functions() map[string]function.Function {
	return map[string]function.Function{
		"exec":         r.execFunction(),
		"env":          textFunction([]string{"name"}, r.readEnv),
		"file":         textFunction([]string{"path"}, r.readText),
		"templatefile": r.templateFunction(),
	}
}

func (r *outside) readEnv(args []string) (string, error) {
	text, ok := r.env(args[0])
	if !ok {
		return "", fmt.Errorf("the environment variable %s is not set", args[0])
	}
	if !utf8.ValidString(text) {
		return "", fmt.Errorf("the environment variable %s is not UTF-8 text", args[0])
	}
	return text, nil
}

func (r *outside) readText(args []string) (string, error) {
	name := r.path(args[0])
	if src, ok := r.read[name]; ok {
		return string(src), nil
	}
	src, err := readLimited(r.fsys, name)
	if err != nil {
		return "", err
	}
	if !utf8.Valid(src) {
		return "", fmt.Errorf("%s is not UTF-8 text", args[0])
	}
	r.read[name] = src
	return string(src), nil
}

// A template is a file that was parsed for templatefile.
type template struct {
	expr hclsyntax.Expression
	err  error
}

// template parses a file once.
func (r *outside) template(name string) (hclsyntax.Expression, error) {
	path := r.path(name)
	if t := r.templates[path]; t != nil {
		return t.expr, t.err
	}
	t := &template{}
	r.templates[path] = t
	if strings.HasSuffix(path, ".weft.hcl") { // a plan that is applied is searched for what templates read
		t.err = fmt.Errorf("%s is a file of the inventory, not a template", path)
		return nil, t.err
	}
	text, err := r.readText([]string{name})
	if err != nil {
		t.err = err
		return nil, t.err
	}
	src := []byte(text)
	if tokens, _ := hclsyntax.LexTemplate(src, path, hcl.InitialPos); nestedTooDeep(tokens) != nil {
		t.err = fmt.Errorf("%s is nested too deeply", path)
		return nil, t.err
	}
	x, diags := hclsyntax.ParseTemplate(src, path, hcl.InitialPos)
	if diags.HasErrors() {
		t.err = fmt.Errorf("%s: %s", diagPlace(diags[0], path), diags[0].Detail)
		return nil, t.err
	}
	t.expr = r.e.lazyTemplate(x)
	return t.expr, nil
}

// templateFunction fills a file with values.
func (r *outside) templateFunction() function.Function {
	return function.New(&function.Spec{
		Params: []function.Parameter{{Name: "path", Type: cty.String}, {Name: "variables", Type: cty.DynamicPseudoType}},
		Type:   function.StaticReturnType(cty.String),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			ty := args[1].Type()
			if !ty.IsObjectType() && !ty.IsMapType() {
				return cty.NilVal, function.NewArgErrorf(1, "an object with the template's variables is required")
			}
			x, err := r.template(args[0].AsString())
			if err != nil {
				return cty.NilVal, err
			}
			return r.fill(x, r.path(args[0].AsString()), args[1].AsValueMap())
		},
	})
}

func (r *outside) fill(x hclsyntax.Expression, path string, variables map[string]cty.Value) (cty.Value, error) {
	all := r.e.directories[r.dir].functions
	functions := make(map[string]function.Function, len(all))
	for name, f := range all {
		if name != "templatefile" && name != "exec" { // a template that fills itself would never end
			functions[name] = f
		}
	}
	v, diags := x.Value(&hcl.EvalContext{Functions: functions, Variables: variables})
	if diags.HasErrors() {
		return cty.NilVal, fmt.Errorf("%s: %s", diagPlace(diags[0], path), diags[0].Detail)
	}
	if !v.IsKnown() {
		return cty.UnknownVal(cty.String), nil
	}
	v, err := convert.Convert(v, cty.String)
	if err != nil || v.IsNull() {
		return cty.NilVal, errors.New(path + " does not yield a string")
	}
	return v, nil
}

func diagPlace(d *hcl.Diagnostic, path string) string {
	if d.Subject == nil {
		return path
	}
	return problem.Where(*d.Subject)
}
