package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	codeSpan = regexp.MustCompile("`([^`\n]+)`")
	pathSpan = regexp.MustCompile(`^(?:\.ci|\.github|cmd|internal|inventory|modules|plan|switches|examples)/[\w./-]*\w$`)
	linkSpan = regexp.MustCompile(`\]\(([^)#:]+)(?:#[^)]*)?\)`)
)

// What the pages at the door name is there: files, folders, targets of make.
func TestDoorNamesWhatIsThere(t *testing.T) {
	root := filepath.Join("..", "..")
	makefile, err := os.ReadFile(filepath.Join(root, "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	there := func(page, name string) {
		if _, err := os.Stat(filepath.Join(root, filepath.FromSlash(name))); err != nil {
			t.Errorf("%s names %s: %v", page, name, err)
		}
	}
	seen := 0
	for _, page := range []string{"README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md"} {
		text, err := os.ReadFile(filepath.Join(root, page))
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range codeSpan.FindAllStringSubmatch(string(text), -1) {
			switch target, isMake := strings.CutPrefix(m[1], "make "); {
			case isMake && !strings.Contains(string(makefile), "\n"+target+":"):
				t.Errorf("%s names make %s, which there is not", page, target)
			case pathSpan.MatchString(m[1]):
				seen++
				there(page, m[1])
			}
		}
		for _, m := range linkSpan.FindAllStringSubmatch(string(text), -1) {
			there(page, m[1])
		}
	}
	if seen < 30 {
		t.Errorf("%d paths were found: they are looked for in the wrong way", seen)
	}
}

// README's map has every package: by its name, or as a part of one that it has.
func TestMapHasEveryPackage(t *testing.T) {
	root := filepath.Join("..", "..")
	text, err := os.ReadFile(filepath.Join(root, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(text), "\n## The map\n")
	table, _, _ = strings.Cut(table, "\n## ")
	var named []string
	for _, m := range codeSpan.FindAllStringSubmatch(table, -1) {
		named = append(named, m[1])
	}
	err = filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		if name := d.Name(); name == "testdata" || len(name) > 2 && name[0] == '.' {
			return filepath.SkipDir
		}
		if files, _ := filepath.Glob(filepath.Join(file, "*.go")); len(files) == 0 {
			return nil
		}
		rel, err := filepath.Rel(root, file)
		if err != nil {
			return err
		}
		name := filepath.ToSlash(rel)
		if !slices.ContainsFunc(named, func(n string) bool { return name == n || strings.HasPrefix(name, n+"/") }) {
			t.Errorf("README's map does not have %s", name)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// Both systems of CI call targets of make, and each the same ones.
func TestCICallsMake(t *testing.T) {
	calls := func(file string) (out []string) {
		text, err := os.ReadFile(filepath.Join("..", "..", filepath.FromSlash(file)))
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`(?m)^ *- (?:run: )?make (.+)$`).FindAllStringSubmatch(string(text), -1) {
			out = append(out, m[1])
		}
		return out
	}
	github, gitlab := calls(".github/workflows/ci.yml"), calls(".gitlab-ci.yml")
	if len(github) < 3 {
		t.Fatalf("GitHub calls make %q", github)
	}
	for _, target := range github {
		if !slices.Contains(gitlab, target) {
			t.Errorf("GitLab does not call make %s, as GitHub does: %q", target, gitlab)
		}
	}
}

// The list of files that a kind needs is whole: no other file knows the kind that
// it takes as its example.
func TestListOfAKind(t *testing.T) {
	root := filepath.Join("..", "..")
	text, err := os.ReadFile(filepath.Join(root, "CONTRIBUTING.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, list, _ := strings.Cut(string(text), "### A kind of resource of servers")
	list, _, _ = strings.Cut(list, "\n### ")
	listed := map[string]bool{}
	for _, m := range codeSpan.FindAllStringSubmatch(list, -1) {
		listed[m[1]] = false
	}
	err = filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") {
			return err
		}
		content, err := os.ReadFile(file)
		if err != nil || !strings.Contains(strings.ToLower(string(content)), "sysctl") {
			return err
		}
		rel, err := filepath.Rel(root, file)
		if err != nil {
			return err
		}
		for name := filepath.ToSlash(rel); name != "."; name = filepath.ToSlash(filepath.Dir(name)) {
			if _, ok := listed[name]; ok {
				listed[name] = true
				return nil
			}
		}
		t.Errorf("%s knows sysctl, and CONTRIBUTING does not say so", rel)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for name, knows := range listed {
		if strings.HasSuffix(name, ".go") && !knows && name != "modules/expand.go" {
			t.Errorf("CONTRIBUTING lists %s, which does not know sysctl", name)
		}
	}
}
