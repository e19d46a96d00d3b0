package main

import (
	"bytes"
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing/fstest"

	"github.com/hashicorp/hcl/v2"

	"weft/internal/review"
	"weft/internal/slice"
	"weft/internal/view"
	"weft/inventory"
	"weft/inventory/language"
	"weft/plan"
)

func reviewFormats() []string {
	return []string{"markdown", "github", "gitlab", "gitlab-report", "sarif"}
}

// review writes a saved plan for a forge.
func (sho *showCommand) review(file, format string, limit int, lines bool) error {
	comment := slices.Contains(reviewFormats()[:3], format)
	switch {
	case sho.opts.json:
		return usage(errors.New("--format says what is written, and --json does not go with it"))
	case !slices.Contains(reviewFormats(), format):
		return usage(fmt.Errorf("--format: there are %s, and not %q", strings.Join(reviewFormats(), ", "), format))
	case limit != 0 && !comment:
		return usage(fmt.Errorf("--max-bytes: a part of %s could not be read", format))
	case limit != 0 && limit < review.Shortest:
		return usage(fmt.Errorf("--max-bytes: the least is %d", review.Shortest))
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	p, err := plan.ReadPlan(bytes.NewReader(text))
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	out := stream(sho.out.stdout) // review cleans what it writes, and a forge reads it
	switch format {
	case "gitlab-report":
		return review.GitLab(out, p)
	case "sarif":
		log := sho.repo.sarif(slices.Sorted(maps.Keys(p.Sources)))
		log.Plan(p)
		return log.Write(out)
	case "github":
		limit = cmp.Or(limit, review.GitHubComment)
	case "gitlab":
		limit = cmp.Or(limit, review.GitLabNote)
	}
	phases := phasesOf(p)
	view.Shorten(p)
	shown := review.Plan{Plan: p, Digest: plan.DigestOf(text), Phases: phases, Lines: lines}
	return shown.Markdown(out, limit)
}

// phasesOf reads how the files of a plan have it carried out. Nothing of this
// machine is read for it.
func phasesOf(p *plan.Plan) []review.Phase {
	m, diags := readFiles(sourcesOf(p), language.Options{Values: valuesOf(p), Secrets: fstest.MapFS{}, LookupEnv: standIn})
	if diags.HasErrors() || len(m.Rollouts) == 0 || p.Destroy {
		return nil
	}
	var list []review.Phase
	for _, ph := range m.Rollouts[0].Phases {
		r := review.Phase{Name: ph.Name, Window: ph.Window.String()}
		if ph.Approve != "none" {
			r.Approve = ph.Approve
			if ph.Approvals > 0 {
				r.Approve = strings.TrimSuffix(fmt.Sprintf("%d signed, not by %s", ph.Approvals, strings.Join(ph.NotBy, ", ")), ", not by ")
			}
		}
		if ph.Soak > 0 {
			r.Soak = ph.Soak.String()
		}
		r.Gates = slice.Map(ph.Gate, func(v *inventory.Validation) string { return v.Name })
		list = append(list, r)
	}
	return list
}

// validateFor checks the files and reports for a forge.
func (c *validateCommand) validateFor(format string) error {
	switch {
	case c.opts.json:
		return usage(errors.New("--format says what is written, and --json does not go with it"))
	case format != "github" && format != "sarif":
		return usage(fmt.Errorf("--format: there are github and sarif, and not %q", format))
	}
	m, diags, err := c.project.problems()
	if err != nil {
		return err
	}
	out := stream(c.out.stdout) // a forge reads it
	if format == "sarif" {
		log := c.repo.sarif(slices.Sorted(maps.Keys(m.Files)))
		log.Problems(m.Files, diags)
		err = log.Write(out)
	} else {
		err = c.annotate(m, diags)
	}
	if err == nil && diags.HasErrors() {
		return &quietError{exitError}
	}
	return err
}

// annotate writes problems for GitHub Actions, and all of them as text for its log.
// That text quotes the files, and no line of it may be taken for a command.
func (c *validateCommand) annotate(m *inventory.Model, diags hcl.Diagnostics) error {
	if err := review.Annotations(c.out.stdout, c.repo.inRepository, diags); err != nil {
		return err
	}
	if len(diags) == 0 {
		_, err := fmt.Fprintf(c.out.stdout, "%s is valid.\n", m.Name)
		return err
	}
	token := rand.Text()
	fmt.Fprintf(c.out.stdout, "::stop-commands::%s\n", token)
	err := view.Diagnostics(c.out.stdout, c.out.style(c.out.stdout), m.Files, diags)
	fmt.Fprintf(c.out.stdout, "::%s::\n", token)
	return err
}
