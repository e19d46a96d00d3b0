package arch

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The most lines that a function and a file may have, tests apart.
const (
	longestFunction = 60
	longestFile     = 400
)

// long are the functions that are longer, and why.
func long() map[string]string {
	return map[string]string{
		"internal/nvme/wire/status.go Name":                       "a table: each status with its words",
		"inventory/language/describe_words.go deviceDescriptions": "a table: each word of devices with its description",
		"inventory/language/lazy.go expr":                         "one case for each form of an expression of HCL, which belong side by side",
		"cmd/weft/discover.go discover":                           "the command's steps in their order, each a call",
		"cmd/weft/doctor.go doctor":                               "the command's steps in their order, each a call",
		"internal/discover/adopt.go adoptions":                    "the lines of one switch, sorted by what adoption does to them",
	}
}

// TestLength holds functions and files to what one reads at once.
func TestLength(t *testing.T) {
	root, reasons := filepath.Join("..", ".."), long()
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "testdata" || len(d.Name()) > 2 && d.Name()[0] == '.'):
			return fs.SkipDir
		case d.IsDir() || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		name := filepath.ToSlash(rel)
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if n := bytes.Count(text, []byte("\n")); n > longestFile {
			t.Errorf("%s has %d lines, of at most %d", name, n, longestFile)
		}
		set := token.NewFileSet()
		f, err := parser.ParseFile(set, path, text, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, decl := range f.Decls {
			fn, ok := decl.(*ast.FuncDecl)
			if !ok {
				continue
			}
			key := name + " " + fn.Name.Name
			lines := set.Position(fn.End()).Line - set.Position(fn.Pos()).Line + 1
			_, listed := reasons[key]
			if lines > longestFunction && !listed {
				t.Errorf("%s has %d lines, of at most %d: split it, or say here why not", key, lines, longestFunction)
			}
			if lines > longestFunction {
				delete(reasons, key)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for key := range reasons {
		t.Errorf("%s is not long any more: take it out", key)
	}
}
