package main

import (
	"bytes"
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing/fstest"

	"github.com/hashicorp/hcl/v2"

	"weft/internal/review"
	"weft/internal/slice"
	"weft/internal/view"
	"weft/inventory"
	"weft/inventory/language"
	"weft/modules"
	"weft/plan"
)

func reviewFormats() []string {
	return []string{"markdown", "github", "gitlab", "gitlab-report", "sarif"}
}

// review writes a saved plan for a forge.
func (a *app) review(file, format string, limit int, lines bool) error {
	comment := slices.Contains(reviewFormats()[:3], format)
	switch {
	case a.json:
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
	out := stream(a.stdout) // review cleans what it writes, and a forge reads it
	switch format {
	case "gitlab-report":
		return review.GitLab(out, p)
	case "sarif":
		log := a.log(slices.Sorted(maps.Keys(p.Sources)))
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

// log begins a SARIF file.
func (a *app) log(files []string) *review.Log {
	first := "."
	if len(files) > 0 {
		first = files[0]
	}
	return &review.Log{Version: version(), Path: a.inRepository, First: first}
}

// inRepository is the path of a file of the inventory from the directory that weft
// works in, with slashes.
func (a *app) inRepository(name string) string {
	path := filepath.Join(a.dir, filepath.FromSlash(name))
	if filepath.IsAbs(path) {
		if here, err := os.Getwd(); err == nil {
			if rel, err := filepath.Rel(here, path); err == nil && filepath.IsLocal(rel) {
				path = rel
			}
		}
	}
	return filepath.ToSlash(path)
}

// validateFor checks the files and reports for a forge.
func (a *app) validateFor(format string) error {
	switch {
	case a.json:
		return usage(errors.New("--format says what is written, and --json does not go with it"))
	case format != "github" && format != "sarif":
		return usage(fmt.Errorf("--format: there are github and sarif, and not %q", format))
	}
	m, diags, err := a.problems()
	if err != nil {
		return err
	}
	out := stream(a.stdout) // a forge reads it
	if format == "sarif" {
		log := a.log(slices.Sorted(maps.Keys(m.Files)))
		log.Problems(m.Files, diags)
		err = log.Write(out)
	} else {
		err = a.annotate(m, diags)
	}
	if err == nil && diags.HasErrors() {
		return &quietError{exitError}
	}
	return err
}

// problems is all that is wrong with the files.
func (a *app) problems() (*inventory.Model, hcl.Diagnostics, error) {
	fsys, err := a.files()
	if err != nil {
		return nil, nil, err
	}
	m, diags, err := a.parse(fsys, nil)
	if err != nil || diags.HasErrors() {
		return m, diags, err
	}
	_, more := modules.Expand(m, offline())
	return m, append(diags, more...), nil
}

// annotate writes problems for GitHub Actions, and all of them as text for its log.
// That text quotes the files, and no line of it may be taken for a command.
func (a *app) annotate(m *inventory.Model, diags hcl.Diagnostics) error {
	if err := review.Annotations(a.stdout, a.inRepository, diags); err != nil {
		return err
	}
	if len(diags) == 0 {
		_, err := fmt.Fprintf(a.stdout, "%s is valid.\n", m.Name)
		return err
	}
	token := rand.Text()
	fmt.Fprintf(a.stdout, "::stop-commands::%s\n", token)
	err := view.Diagnostics(a.stdout, a.style(a.stdout), m.Files, diags)
	fmt.Fprintf(a.stdout, "::%s::\n", token)
	return err
}
