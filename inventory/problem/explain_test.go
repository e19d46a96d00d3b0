package problem

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func TestEveryCodeHasAPage(t *testing.T) {
	known := map[string]bool{}
	for _, c := range Codes() {
		if known[string(c.Code)] {
			t.Errorf("%s is in the table twice", c.Code)
		}
		known[string(c.Code)] = true
		title, text, ok := Explain(string(c.Code))
		if !ok {
			t.Errorf("%s has no page", c.Code)
			continue
		}
		if title != c.Title {
			t.Errorf("the title of %s is %q", c.Code, title)
		}
		page, err := pages.ReadFile("explain/" + string(c.Code) + ".md")
		if err != nil {
			t.Fatal(err)
		}
		if heading := "# " + string(c.Code) + ": " + c.Title + "\n\n"; !strings.HasPrefix(string(page), heading) {
			t.Errorf("the page of %s does not begin with %q", c.Code, heading)
		}
		for _, part := range []string{"Wrong:\n", "Right:\n"} {
			if strings.Count(text, part) != 1 {
				t.Errorf("the page of %s has no %q", c.Code, part)
			}
		}
		if n := strings.Count(string(page), "\n"); n < 10 || n > 35 {
			t.Errorf("the page of %s has %d lines", c.Code, n)
		}
		for i, line := range strings.Split(string(page), "\n") {
			if len(line) > 100 {
				t.Errorf("%s.md:%d is longer than 100 characters", c.Code, i+1)
			}
		}
	}
	source, err := os.ReadFile("codes.go")
	if err != nil {
		t.Fatal(err)
	}
	for code := range known {
		if !strings.Contains(string(source), `Code = "`+code+`"`) {
			t.Errorf("%s has a page and is no code", code)
		}
	}
}

// TestNoCodeIsUnknown reads the sources of weft and of its tests: a code that
// stands there can be explained.
func TestNoCodeIsUnknown(t *testing.T) {
	code := regexp.MustCompile(`\bWF-[A-Z]+-[0-9]+\b`)
	known := map[string]bool{}
	for _, c := range Codes() {
		known[string(c.Code)] = true
	}
	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if strings.HasPrefix(d.Name(), ".") && d.Name() != ".." || d.Name() == "bin" {
				return fs.SkipDir
			}
			return nil
		}
		switch filepath.Ext(path) {
		case ".go", ".txtar", ".md", ".hcl":
		default:
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, c := range code.FindAllString(string(text), -1) {
			if !known[c] && !slices.Contains(wrongCodes(), c) {
				t.Errorf("%s: %s is not in the table of codes", path, c)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// wrongCodes are those that tests make up.
func wrongCodes() []string {
	return []string{"WF-NET-999", "WF-NTE-001", "WF-QSO-002", "WF-NET-012", "WF-QOS-003", "WF-QOS-005"}
}

func TestExplainUnknown(t *testing.T) {
	for _, code := range []string{"", "wf-net-001", "WF-NET-999", "../codes"} {
		if _, _, ok := Explain(code); ok {
			t.Errorf("%q is explained", code)
		}
	}
	for word, want := range map[string]Code{"WF-NTE-001": NoPlane, "wf-net-001": NoPlane, "something": ""} {
		if got := NearCode(word); got != want {
			t.Errorf("near %q is %q", word, got)
		}
	}
}
