package language

import (
	"cmp"
	"slices"

	"weft/inventory/problem"

	"github.com/hashicorp/hcl/v2"
)

// finish returns all problems, each once, in the order of the files.
func (e *evaluator) finish() hcl.Diagnostics {
	type kind struct {
		subject hcl.Range
		summary string
	}
	var all hcl.Diagnostics
	seen := map[kind]map[string]bool{}
	last := map[kind]*hcl.Diagnostic{}
	for _, d := range problem.Coded(problem.Expr, e.diags) {
		if d.Severity == hcl.DiagWarning && len(e.meant) > 0 {
			continue // it may warn of what a whole block with a misspelt type says
		}
		if d.Subject == nil {
			d.Subject = fileStart(".").Ptr()
		}
		if d.Context == nil {
			d.Context = d.Subject
		}
		k := kind{*d.Subject, d.Summary}
		if seen[k] == nil {
			seen[k] = map[string]bool{}
		}
		if seen[k][d.Detail] {
			continue
		}
		seen[k][d.Detail] = true
		if len(seen[k]) <= problem.MaxAlike {
			all = append(all, d)
			last[k] = d
		}
	}
	for k, details := range seen {
		if more := len(details) - problem.MaxAlike; more > 0 {
			problem.AndMore(last[k], more)
		}
	}
	slices.SortStableFunc(all, func(a, b *hcl.Diagnostic) int {
		return cmp.Or(cmp.Compare(a.Subject.Filename, b.Subject.Filename), a.Subject.Start.Byte-b.Subject.Start.Byte)
	})
	return all
}
