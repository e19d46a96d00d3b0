package review

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"

	"weft/plan"
)

// perStep is how many annotations of a kind GitHub shows of a step; more are dropped
// there in silence.
const perStep = 10

// Annotations writes problems as workflow commands of GitHub Actions, which shows
// each next to its line. Where there are more than it shows the last one says so.
func Annotations(w io.Writer, path func(string) string, diags hcl.Diagnostics) error {
	total, n := map[string]int{}, map[string]int{}
	for _, d := range diags {
		total[level(d)]++
	}
	for _, d := range diags {
		kind := level(d)
		n[kind]++
		switch over := total[kind] - perStep; {
		case over > 0 && n[kind] == perStep:
			if _, err := fmt.Fprintf(w, "::%s title=weft::%s\n", kind, data(fmt.Sprintf("%d more problems of this kind are in the log: %d are shown for a step", over+1, perStep))); err != nil {
				return err
			}
			continue
		case n[kind] > perStep:
			continue
		}
		if _, err := fmt.Fprintln(w, annotation(kind, path, d)); err != nil {
			return err
		}
	}
	return nil
}

func annotation(kind string, path func(string) string, d *hcl.Diagnostic) string {
	var at []string
	if r := d.Subject; r != nil && r.Filename != "" {
		at = append(at, "file="+property(path(r.Filename)))
		if r.Start.Line > 0 {
			at = append(at, fmt.Sprintf("line=%d,endLine=%d", r.Start.Line, max(r.Start.Line, r.End.Line)))
			if r.End.Line == r.Start.Line {
				at = append(at, fmt.Sprintf("col=%d,endColumn=%d", r.Start.Column, max(r.Start.Column, r.End.Column)))
			}
		}
	}
	at = append(at, "title="+property(d.Summary))
	text := cmp.Or(d.Detail, d.Summary)
	return "::" + kind + " " + strings.Join(at, ",") + "::" + data(text)
}

// data and property escape as the runner of GitHub Actions unescapes:
// https://github.com/actions/toolkit, packages/core/src/command.ts.
func data(text string) string {
	return strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A").Replace(text)
}

func property(text string) string {
	return strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C").Replace(text)
}

// GitLab writes the counts of a plan as GitLab's merge requests show them:
// artifacts:reports:terraform.
func GitLab(w io.Writer, p *plan.Plan) error {
	var n struct {
		Create int `json:"create"`
		Update int `json:"update"`
		Delete int `json:"delete"`
	}
	for _, s := range p.Steps {
		switch {
		case s.Prune:
			n.Delete++
		case created(s):
			n.Create++
		default:
			n.Update++
		}
	}
	return json.NewEncoder(w).Encode(n)
}

// created reports whether nothing of a resource was there before.
func created(s plan.PlannedStep) bool {
	return !slices.ContainsFunc(s.Changes, func(c plan.Change) bool { return c.Before != "" })
}
