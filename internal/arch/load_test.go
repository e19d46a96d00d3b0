package arch

import (
	"encoding/json"
	"errors"
	"go/ast"
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

// A typed package is the source of a package of weft outside tests, with its types.
type typed struct {
	path  string
	fset  *token.FileSet
	files []*ast.File
	info  *types.Info
	pkg   *types.Package
}

// TestTyped runs the checks that need types, on one loading of the packages.
func TestTyped(t *testing.T) {
	all, err := loadTyped()
	if err != nil {
		t.Fatal(err)
	}
	t.Run("device assertions", func(t *testing.T) { checkDeviceAssertions(t, all) })
	t.Run("texts of errors", func(t *testing.T) { checkParsedErrors(t, all) })
}

// loadTyped type-checks every package of weft for the system of the test. Imports come from the
// export data of the build cache.
func loadTyped() ([]*typed, error) {
	cmd := exec.Command("go", "list", "-export", "-deps", "-json=ImportPath,Dir,GoFiles,Export", "weft/...")
	out, err := cmd.Output()
	if err != nil {
		if exit := new(exec.ExitError); errors.As(err, &exit) {
			err = errors.New(string(exit.Stderr))
		}
		return nil, err
	}
	type listed struct {
		ImportPath, Dir, Export string
		GoFiles                 []string
	}
	var ours []listed
	exports := map[string]string{}
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p listed
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, err
		}
		exports[p.ImportPath] = p.Export
		if strings.HasPrefix(p.ImportPath, "weft/") {
			ours = append(ours, p)
		}
	}
	fset := token.NewFileSet()
	from := importer.ForCompiler(fset, "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })
	var all []*typed
	for _, p := range ours {
		one := &typed{path: p.ImportPath, fset: fset, info: &types.Info{Types: map[ast.Expr]types.TypeAndValue{}, Uses: map[*ast.Ident]types.Object{}, Defs: map[*ast.Ident]types.Object{}}}
		for _, name := range p.GoFiles {
			f, err := parser.ParseFile(fset, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
			if err != nil {
				return nil, err
			}
			one.files = append(one.files, f)
		}
		check := types.Config{Importer: from, FakeImportC: true}
		if one.pkg, err = check.Check(p.ImportPath, fset, one.files, one.info); err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	return all, nil
}

// at is the place of a node, from the root of the repository.
func (p *typed) at(n ast.Node) string {
	pos := p.fset.Position(n.Pos())
	root, _ := filepath.Abs("../..")
	if rel, err := filepath.Rel(root, pos.Filename); err == nil {
		pos.Filename = rel
	}
	return pos.String()
}
