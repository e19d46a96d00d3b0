package arch

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// switchSystem is the name of a switch system, however it is written.
var switchSystem = regexp.MustCompile(`(?i)nxos|nx-os|nexus|comware`)

// TestNobodyAsksWhichSystem: a switch system is one value. Only its own files, the
// list of all, the catalogue, and the lab, which has a list of simulators of its own,
// know one by its name.
func TestNobodyAsksWhichSystem(t *testing.T) {
	knows := func(path string) bool {
		dir, _ := filepath.Split(path)
		switch {
		case strings.HasPrefix(path, "inventory/catalogue/"), strings.HasPrefix(path, "internal/lab/"):
			return true
		case strings.HasPrefix(path, "switches/") && dir != "switches/":
			return true
		}
		return false
	}
	seen := 0
	const root = "../.."
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		rel, _ := filepath.Rel(root, path)
		rel = filepath.ToSlash(rel)
		if d != nil && d.IsDir() && (strings.HasPrefix(d.Name(), ".") && rel != "." || d.Name() == "testdata") {
			return fs.SkipDir
		}
		if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || knows(rel) {
			return err
		}
		set := token.NewFileSet()
		f, err := parser.ParseFile(set, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		seen++
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.BasicLit:
				if n.Kind == token.STRING && switchSystem.MatchString(n.Value) {
					t.Errorf("%s:%d knows a switch system by its name: %s", rel, set.Position(n.Pos()).Line, n.Value)
				}
			case *ast.Ident:
				if switchSystem.MatchString(n.Name) {
					t.Errorf("%s:%d asks for a switch system: %s", rel, set.Position(n.Pos()).Line, n.Name)
				}
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if seen < 300 {
		t.Errorf("only %d files were looked at", seen)
	}
}
