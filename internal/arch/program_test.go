package arch

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/build"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// A program is weft without its tests, checked by go/types. Packages of weft come from
// source and share their type objects; the others come from export data.
type program struct {
	fset     *token.FileSet
	packages []*source // dependencies first
}

type source struct {
	*types.Package
	files []*ast.File
	info  *types.Info
}

func loadProgram() (*program, error) {
	own, err := list("-deps", "./...")
	if err != nil {
		return nil, err
	}
	outside := []string{"-export"} // weft itself is not compiled for this
	for _, f := range own {
		if !strings.HasPrefix(f[0], "weft/") {
			outside = append(outside, f[0])
		}
	}
	libraries, err := list(outside...)
	if err != nil {
		return nil, err
	}
	p := &program{fset: token.NewFileSet()}
	exports, done := map[string]string{}, map[string]*types.Package{}
	external := importer.ForCompiler(p.fset, "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })
	imports := importerFunc(func(path string) (*types.Package, error) {
		if own := done[path]; own != nil {
			return own, nil
		}
		return external.Import(path)
	})
	for _, f := range libraries {
		exports[f[0]] = f[1]
	}
	for _, f := range own {
		if !strings.HasPrefix(f[0], "weft/") {
			continue
		}
		s := &source{info: &types.Info{Types: map[ast.Expr]types.TypeAndValue{}, Uses: map[*ast.Ident]types.Object{},
			Defs: map[*ast.Ident]types.Object{}, Selections: map[*ast.SelectorExpr]*types.Selection{}, Instances: map[*ast.Ident]types.Instance{}}}
		dir, err := build.ImportDir(f[2], 0)
		if err != nil {
			return nil, err
		}
		for _, name := range dir.GoFiles {
			file, err := parser.ParseFile(p.fset, filepath.Join(f[2], name), nil, parser.SkipObjectResolution|parser.ParseComments)
			if err != nil {
				return nil, err
			}
			s.files = append(s.files, file)
		}
		if s.Package, err = (&types.Config{Importer: imports}).Check(f[0], p.fset, s.files, s.info); err != nil {
			return nil, err
		}
		done[f[0]] = s.Package
		p.packages = append(p.packages, s)
	}
	return p, nil
}

// list returns path, export data and directory of packages.
func list(args ...string) (all [][]string, err error) {
	cmd := exec.Command("go", append([]string{"list", "-f", "{{.ImportPath}}\t{{.Export}}\t{{.Dir}}"}, args...)...)
	cmd.Dir = "../.."
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w\n%s", err, stderr.Bytes())
	}
	for line := range strings.Lines(string(out)) {
		all = append(all, strings.Split(strings.TrimSuffix(line, "\n"), "\t"))
	}
	return all, nil
}

// load returns weft, type-checked.
func load(t *testing.T) *program {
	t.Helper()
	p, err := loadProgram()
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// at is the place of a node, relative to the module.
func (p *program) at(n ast.Node) string {
	pos := p.fset.Position(n.Pos())
	root, _ := filepath.Abs("../..")
	name, _ := filepath.Rel(root, pos.Filename)
	return name
}

type importerFunc func(string) (*types.Package, error)

func (f importerFunc) Import(path string) (*types.Package, error) { return f(path) }
