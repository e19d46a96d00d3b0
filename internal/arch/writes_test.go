package arch

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// writers are the packages that create, replace or open files for writing, and which files
// those are. Files that a user names are written by internal/outfile alone.
func writers() map[string]string {
	return map[string]string{
		"cmd/weft-target":          "its state in its state directory",
		"internal/flock":           "lock files, which have no content",
		"internal/hub":             "the directory of a hub's server",
		"internal/lab":             ".weft/lab",
		"internal/labctl":          "the lock and the log of a lab",
		"internal/lab/guest":       "images and disks of guests in .weft/lab",
		"internal/lab/simesxi":     "the simulated host's own files",
		"internal/lab/simserver":   "the simulated server's own files",
		"internal/nvme/backend":    "volumes that a target exports, and the state of their mirrors",
		"internal/nvme/load":       "block devices that the load is measured on",
		"internal/nvme/rdma/verbs": "the device of the RDMA connection manager",
		"internal/outfile":         "the files that a user names",
		"internal/run":             "locks, records and measurements in .weft",
		"internal/store/dir":       "the directory of a store",
		"internal/store/nats":      "temporary files",
	}
}

// TestWrites: no other package writes files, so no flag destroys what it names.
func TestWrites(t *testing.T) {
	root, reasons := filepath.Join("..", ".."), writers()
	used := map[string]bool{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "testdata" || len(d.Name()) > 2 && d.Name()[0] == '.'):
			return fs.SkipDir
		case d.IsDir() || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		rel, err := filepath.Rel(root, filepath.Dir(path))
		if err != nil {
			return err
		}
		name := filepath.ToSlash(rel)
		set := token.NewFileSet()
		f, err := parser.ParseFile(set, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(f, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || !writes(call) {
				return true
			}
			if _, listed := reasons[name]; listed {
				used[name] = true
			} else {
				t.Errorf("%s writes a file: use internal/outfile if a user names it; a package that owns its folder is named here", set.Position(call.Pos()))
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for name := range reasons {
		if !used[name] {
			t.Errorf("%s writes no files any more: take it out", name)
		}
	}
}

// writes reports whether a call creates, replaces or opens a file for writing.
func writes(call *ast.CallExpr) bool {
	fn, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	if x, ok := fn.X.(*ast.Ident); !ok || x.Name != "os" {
		return false
	}
	if fn.Sel.Name != "OpenFile" {
		return slices.Contains([]string{"Rename", "WriteFile", "Create", "CreateTemp"}, fn.Sel.Name)
	}
	reads, ok := call.Args[1].(*ast.SelectorExpr) // a single flag
	return !ok || reads.Sel.Name != "O_RDONLY"
}
