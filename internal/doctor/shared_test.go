package doctor

import (
	"slices"
	"testing"

	"weft/inventory/problem"
	"weft/inventory/rules"
)

// What validate finds in files and doctor on devices has one severity, and where both report it
// under one ID, one title.
func TestShared(t *testing.T) {
	rule := map[problem.Code]rules.Finding{}
	for _, r := range rules.All() {
		for _, f := range r.Finds {
			all := rule[f.Code]
			rule[f.Code] = rules.Finding{Code: f.Code, Errors: all.Errors || f.Errors, Warns: all.Warns || f.Warns}
		}
	}
	pairs := map[string]problem.Code{ // of IDs that are older than this test
		"WD-QOS-07": problem.ECN, "WD-QOS-08": problem.ETS, "WD-NVM-09": problem.NQNTwice, "WD-LNK-11": problem.OneSwitch,
	}
	for _, c := range Catalogue() {
		if title, _, ok := problem.Explain(c.ID); ok {
			pairs[c.ID] = problem.Code(c.ID)
			if title != c.Title {
				t.Errorf("%s is %q to validate and %q to doctor", c.ID, title, c.Title)
			}
		}
		code, shared := pairs[c.ID]
		if !shared {
			continue
		}
		if f := rule[code]; f.Errors != (c.Severity.Rank() <= Error.Rank()) || f.Warns == f.Errors {
			t.Errorf("%s is %s to doctor, and %+v to validate", c.ID, c.Severity, f)
		}
		delete(pairs, c.ID)
	}
	if len(pairs) > 0 {
		t.Errorf("there are no checks %v", pairs)
	}
	for code := range rule {
		if code[:3] == "WD-" && !slices.ContainsFunc(Catalogue(), func(c *Check) bool { return c.ID == string(code) }) {
			t.Errorf("%s is no check of doctor", code)
		}
	}
}
