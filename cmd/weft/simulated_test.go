package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"weft/inventory/language"
)

// shortfallsOf reads an example, changed, and says what the lab lacks of it.
func shortfallsOf(t *testing.T, example string, change func(string) string) []string {
	t.Helper()
	dir := t.TempDir()
	from := filepath.Join("..", "..", "examples", example)
	entries, err := os.ReadDir(from)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		raw, err := os.ReadFile(filepath.Join(from, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, e.Name()), []byte(change(string(raw))), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	m, diags := language.Load(os.DirFS(dir), language.Options{})
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	return shortOf(m, false).lines(m, dir)
}

// TestShortfall holds that what files need and the simulated lab does not have is named with
// what to set.
func TestShortfall(t *testing.T) {
	same := func(s string) string { return s }
	for _, c := range []struct {
		name, example string
		change        func(string) string
		want          []string // parts of the lines, in order; none: nothing is missing
	}{
		{"variables with a file for the lab", "pilot", same, []string{"no RDMA", `target.nvme["st1"]`, "storage.weft.hcl:26", "set --var-file lab.weftvars, or --var 'transport=[\"rdma\", \"tcp\"]' --var 'allow_degraded=true'"}},
		{"attributes", "infiniband", same, []string{"no RDMA", "target.nvme needs", "write transport = [\"rdma\", \"tcp\"] and allow_degraded = true in target.nvme"}},
		{"fallback allowed", "infiniband", func(s string) string {
			return strings.Replace(s, `transport = ["rdma"]`, "transport = [\"rdma\", \"tcp\"]\n  allow_degraded = true", 1)
		}, nil},
		{"TCP", "tcp-only", same, nil},
		{"an external array", "rack-external-array", same, []string{"does not simulate target.array", "main.weft.hcl:112", "external"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := strings.Join(shortfallsOf(t, c.example, c.change), "\n")
			if (got == "") != (c.want == nil) {
				t.Fatalf("%q", got)
			}
			rest := got
			for _, part := range c.want {
				_, after, ok := strings.Cut(rest, part)
				if !ok {
					t.Fatalf("%q is not in %q", part, got)
				}
				rest = after
			}
		})
	}
}
