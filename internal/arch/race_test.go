package arch

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestNotRaced: what the Makefile does not run with the race detector starts no goroutine and
// knows no channel, lock or atomic, nor do its tests; but of a lock in a test for what a
// server of net/http is asked.
func TestNotRaced(t *testing.T) {
	root := filepath.Join("..", "..")
	makefile, err := os.ReadFile(filepath.Join(root, "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	list := regexp.MustCompile(`(?m)^NOT_RACED :=((?:.*\\\n)*.*)$`).FindSubmatch(makefile)
	if list == nil {
		t.Fatal("the Makefile has no NOT_RACED")
	}
	names := strings.Fields(strings.ReplaceAll(string(list[1]), `\`, " "))
	if len(names) < 20 {
		t.Errorf("only %q are not raced", names)
	}
	for _, name := range names {
		files, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(name), "*.go"))
		if err != nil || len(files) == 0 {
			t.Errorf("%s has no files: %v", name, err)
		}
		for _, file := range files {
			set := token.NewFileSet()
			f, err := parser.ParseFile(set, file, nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(f, func(n ast.Node) bool {
				what := ""
				switch n := n.(type) {
				case *ast.GoStmt:
					what = "starts a goroutine"
				case *ast.ChanType:
					what = "has a channel"
				case *ast.SelectorExpr:
					if x, ok := n.X.(*ast.Ident); ok && (x.Name == "sync" && (n.Sel.Name != "Mutex" || !strings.HasSuffix(file, "_test.go")) || x.Name == "atomic") || n.Sel.Name == "Go" {
						what = "shares something among goroutines"
					}
				}
				if what != "" {
					t.Errorf("%s %s: run it with the race detector, so take it out of NOT_RACED", set.Position(n.Pos()), what)
				}
				return true
			})
		}
	}
}
