package view

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// shown is what Diagnostics writes about one problem, from byte a to byte b of
// a file.
func shown(t *testing.T, src string, a, b int) string {
	t.Helper()
	f, _ := hclsyntax.ParseConfig([]byte(src), "x", hcl.InitialPos)
	pos := func(at int) hcl.Pos {
		return hcl.Pos{Line: 1 + strings.Count(src[:at], "\n"), Column: 1, Byte: at}
	}
	var out strings.Builder
	d := &hcl.Diagnostic{Severity: hcl.DiagError, Summary: "wrong", Detail: strings.Repeat("many words ", 12),
		Subject: &hcl.Range{Filename: "x", Start: pos(a), End: pos(b)}}
	screen := NewScreen(&out)
	if err := Diagnostics(screen, screen.Style(true), map[string]*hcl.File{"x": f}, hcl.Diagnostics{d}); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestDiagnostics(t *testing.T) {
	src := "a \"b\" {\n  c = dd\n}\n"
	at := strings.Index(src, "dd")
	words := strings.TrimSpace(strings.Repeat("many words ", 9)) + "\n" + strings.Repeat("many words ", 3)
	want := "\x1b[31mError\x1b[0m: wrong\n\n  on x line 2, in a \"b\":\n   2:   c = \x1b[1;4mdd\x1b[0m\n\n" + words + "\n\n"
	if got := shown(t, src, at, at+2); got != want {
		t.Errorf("%q is not\n%q", got, want)
	}
	long := "c = \"" + strings.Repeat("ä", 50_000) + "\x1b[2J" + strings.Repeat("ö", 50_000) + "\"\n" + strings.Repeat("\n", 50_000)
	esc := strings.Index(long, "\x1b")
	for _, r := range [][2]int{{esc, esc + 3}, {0, len(long)}, {4, len(long) - 60_000}, {len(long), len(long)}} {
		got := strings.NewReplacer("\x1b[31m", "", "\x1b[0m", "", "\x1b[1;4m", "").Replace(shown(t, long, r[0], r[1]))
		if len(got) > 1200 || strings.Contains(got, "\x1b") || strings.Contains(got, "�\xa4") {
			t.Errorf("from %d to %d: %d bytes:\n%.2000q", r[0], r[1], len(got), got)
		}
	}
	if got := shown(t, long, esc, esc+3); !strings.Contains(got, "…ä") || !strings.Contains(got, "ö…") {
		t.Errorf("what is near is not shown: %q", got)
	}
}

// More problems than anybody reads are counted.
func TestManyDiagnostics(t *testing.T) {
	var diags hcl.Diagnostics
	for i := range maxProblems + 5 {
		diags = append(diags, &hcl.Diagnostic{Severity: hcl.DiagWarning, Summary: fmt.Sprint("number ", i)})
	}
	var out strings.Builder
	if err := Diagnostics(&out, Style{}, nil, diags); err != nil {
		t.Fatal(err)
	}
	if !strings.HasSuffix(out.String(), "5 more problems are not shown.\n") || strings.Count(out.String(), "Warning: ") != maxProblems {
		t.Errorf("%.300q", out.String())
	}
}
