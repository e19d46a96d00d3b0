package arch

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// rewriteHelp lists files of cmd/weft whose help TestProseHelp does not judge yet. It only
// shrinks: a listed file without issues fails the test.
func rewriteHelp() []string {
	return []string{"exec.go", "verify_reboot.go"}
}

var (
	helpCode     = regexp.MustCompile(`(?m)^  .*$`)
	helpSentence = regexp.MustCompile(`([\w)…])\.\s([a-z-])`) // a sentence may begin with a command or a flag
)

// TestProseHelp: the help of commands and flags follows the rules of pages.
func TestProseHelp(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("..", "..", "cmd", "weft", "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	judged := 0
	for _, file := range files {
		name := filepath.Base(file)
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		tree, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		var texts []string
		for _, text := range helpTexts(tree) {
			text = helpCode.ReplaceAllString(text, "")
			texts = append(texts, pageTexts(helpSentence.ReplaceAllString(text, "$1. *$2"))...)
		}
		judged += len(texts)
		list := proseIssues(texts)
		switch listed := slices.Contains(rewriteHelp(), name); {
		case listed && len(list) == 0:
			t.Errorf("%s has no issues: remove it from rewriteHelp()", name)
		case !listed:
			for _, issue := range list {
				t.Errorf("%s: %s", name, issue)
			}
		}
	}
	if judged < 200 {
		t.Errorf("only %d texts of help were found", judged)
	}
}

// helpTexts returns the texts of help in a file: fields Short and Long, constants whose
// name ends in Help or Long, and the last argument of calls that define a flag.
func helpTexts(tree *ast.File) []string {
	var out []string
	add := func(e ast.Expr) {
		ast.Inspect(e, func(n ast.Node) bool {
			if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
				if text, err := strconv.Unquote(lit.Value); err == nil {
					out = append(out, text)
				}
			}
			return true
		})
	}
	ast.Inspect(tree, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.KeyValueExpr:
			if key, ok := n.Key.(*ast.Ident); ok && (key.Name == "Short" || key.Name == "Long") {
				add(n.Value)
			}
		case *ast.ValueSpec:
			for i, name := range n.Names {
				if i < len(n.Values) && (strings.HasSuffix(name.Name, "Help") || strings.HasSuffix(name.Name, "Long")) {
					add(n.Values[i])
				}
			}
		case *ast.CallExpr:
			f, ok := n.Fun.(*ast.SelectorExpr)
			if ok && len(n.Args) > 2 && (strings.HasSuffix(f.Sel.Name, "Var") || strings.HasSuffix(f.Sel.Name, "VarP")) {
				add(n.Args[len(n.Args)-1])
			}
		}
		return true
	})
	return out
}
