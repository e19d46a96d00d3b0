package arch

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// switchSystem is the name of a switch system, however it is written; hostSystem is
// that of a host system, as the files and ledgers have it.
var (
	switchSystem = regexp.MustCompile(`(?i)nxos|nx-os|nexus|comware`)
	hostSystem   = regexp.MustCompile("^[\"`](linux|esxi|windows)[\"`]$")
)

// TestNobodyAsksWhichSystem: a switch system is one value, and so is a host system.
// Only its own files, the list of all, the catalogue, and the simulators, which have
// a list of their own, know one by its name.
func TestNobodyAsksWhichSystem(t *testing.T) {
	in := func(path string, dirs ...string) bool {
		return slices.ContainsFunc(dirs, func(dir string) bool { return strings.HasPrefix(path, dir+"/") })
	}
	knows := func(path string) bool {
		dir, _ := filepath.Split(path)
		// identify.go recognises a device by what it prints, whichever system weft took it for.
		return in(path, "inventory/catalogue", "internal/lab/simswitch") || in(path, "switches") && dir != "switches/" || path == "switches/identify.go"
	}
	// What weft and its agents are built for, and run on, is no host system.
	knowsHost := func(path string) bool {
		return in(path, "inventory/catalogue", "modules/linux", "modules/esxi", "modules/windows", "internal/lab/simserver", "internal/lab/simesxi", "internal/lab/simwindows", "internal/bundle", "internal/arch")
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
			case *ast.BinaryExpr: // of runtime.GOOS
				if x, ok := n.X.(*ast.SelectorExpr); ok && x.Sel.Name == "GOOS" {
					return false
				}
			case *ast.BasicLit:
				if hostSystem.MatchString(n.Value) && !knowsHost(rel) {
					t.Errorf("%s:%d knows a host system by its name: %s", rel, set.Position(n.Pos()).Line, n.Value)
				}
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
