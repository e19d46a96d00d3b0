package view

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestLineDiff(t *testing.T) {
	lines := func(n int, changed ...int) string {
		var out []string
		for i := range n {
			out = append(out, fmt.Sprintf("line %d\n", i+1))
		}
		for _, c := range changed {
			out[c-1] = fmt.Sprintf("  line %d\n", c)
		}
		return strings.Join(out, "")
	}
	for _, c := range []struct{ name, before, after, want string }{
		{"nothing", "a\n", "a\n", ""},
		{"empty", "", "", ""},
		{"one line", "a=1\n", "a = 1\n", "--- a/f\n+++ b/f\n@@ -1,1 +1,1 @@\n-a=1\n+a = 1\n"},
		{"no line end", "x\na=1", "x\na = 1",
			"--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n x\n-a=1\n\\ No newline at end of file\n+a = 1\n\\ No newline at end of file\n"},
		{"context", lines(9), lines(9, 5), "--- a/f\n+++ b/f\n@@ -2,7 +2,7 @@\n" +
			" line 2\n line 3\n line 4\n-line 5\n+  line 5\n line 6\n line 7\n line 8\n"},
		{"neighbours go before they come", lines(2), lines(2, 1, 2), "--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n" +
			"-line 1\n-line 2\n+  line 1\n+  line 2\n"},
	} {
		if got := LineDiff(Style{}, "f", c.before, c.after); got != c.want {
			t.Errorf("%s: got\n%s\nwanted\n%s", c.name, got, c.want)
		}
	}
	if got := LineDiff(Style{}, "f", lines(40), lines(40, 1, 8, 16, 40)); strings.Count(got, "@@ -") != 3 {
		t.Errorf("contexts that touch are one hunk, others are not:\n%s", got)
	}
}

// TestLineDiffApplies has patch(1) make the one text out of the other.
func TestLineDiffApplies(t *testing.T) {
	if _, err := exec.LookPath("patch"); err != nil {
		t.Skip("there is no patch(1) here")
	}
	var before, after string
	for i := range 60 {
		before += fmt.Sprintf("k%d=%d\n", i, i)
		after += fmt.Sprintf("k%d=%d\n", i, i)
		if i%11 == 0 || i == 13 {
			after = strings.TrimSuffix(after, fmt.Sprintf("k%d=%d\n", i, i)) + fmt.Sprintf("k%d = %d\n", i, i)
		}
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "f"), []byte(before), 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("patch", "-p1")
	cmd.Dir = dir
	cmd.Stdin = strings.NewReader(LineDiff(Style{}, "f", before, after))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("patch: %v\n%s", err, out)
	}
	if got, err := os.ReadFile(filepath.Join(dir, "f")); err != nil || string(got) != after {
		t.Errorf("patch made another text: %v\n%s", err, got)
	}
}
