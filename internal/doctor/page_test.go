package doctor

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the lists of the page")

// The page lists every check, and every row that is none, as they are.
func TestPage(t *testing.T) {
	raw, err := os.ReadFile("doctor.md")
	if err != nil {
		t.Fatal(err)
	}
	var checks, rest strings.Builder
	checks.WriteString("| id | severity | issue | data | limit | source |\n|---|---|---|---|---|---|\n")
	for _, c := range Catalogue() {
		twice := ""
		if c.Twice {
			twice = " (`--watch`)"
		}
		fmt.Fprintf(&checks, "| %s | %s | %s%s | %s | %s | %s |\n", c.ID, c.Severity, c.Title, twice, c.Reads, c.Limit, c.Source)
	}
	rest.WriteString("| id | topic | reason |\n|---|---|---|\n")
	for _, r := range LeftOut() {
		fmt.Fprintf(&rest, "| %s | %s | %s |\n", r.ID, r.Title, r.Why)
	}
	want := string(raw)
	for name, list := range map[string]string{"checks": checks.String(), "leftout": rest.String()} {
		before, after, ok := strings.Cut(want, "<!-- "+name+" -->\n")
		_, after, end := strings.Cut(after, "<!-- /"+name+" -->")
		if !ok || !end {
			t.Fatalf("the page has no list of %s", name)
		}
		want = before + "<!-- " + name + " -->\n" + list + "<!-- /" + name + " -->" + after
	}
	if *update {
		if err := os.WriteFile("doctor.md", []byte(want), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	if want != string(raw) {
		t.Error("doctor.md is not as the catalogue: go test ./internal/doctor -run TestPage -update")
	}
}
