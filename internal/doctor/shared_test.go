package doctor

import (
	"slices"
	"testing"

	"weft/inventory/problem"
	"weft/inventory/rules"
)

// A finding that validate makes in files and doctor on devices has one severity, and where both report it
// under one ID, one title.
func TestShared(t *testing.T) {
	rule := map[problem.Code]rules.Finding{}
	for _, r := range rules.All() {
		for _, f := range r.Finds {
			all := rule[f.Code]
			rule[f.Code] = rules.Finding{Code: f.Code, Errors: all.Errors || f.Errors, Warns: all.Warns || f.Warns}
		}
	}
	for _, c := range Catalogue() {
		if title, _, ok := problem.Explain(c.ID); ok {
			if title != c.Title {
				t.Errorf("%s is %q to validate and %q to doctor", c.ID, title, c.Title)
			}
		} else {
			continue
		}
		if f := rule[problem.Code(c.ID)]; f.Errors != (c.Severity.Rank() <= Error.Rank()) || f.Warns == f.Errors {
			t.Errorf("%s is %s to doctor, and %+v to validate", c.ID, c.Severity, f)
		}
	}
	for code := range rule {
		if code[:3] == "WD-" && !slices.ContainsFunc(Catalogue(), func(c *Check) bool { return c.ID == string(code) }) {
			t.Errorf("%s is no check of doctor", code)
		}
	}
}
