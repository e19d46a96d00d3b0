package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing/fstest"

	"github.com/hashicorp/hcl/v2"

	"weft/internal/discover"
	"weft/internal/run"
	"weft/inventory"
	"weft/inventory/language"
	"weft/plan"
)

// judge loads files as validate does, and plans with them as plan does, by the logins
// of this run.
func (di *discoverer) judge(ctx context.Context, access run.Access, l *logins, files map[string][]byte) (problems []discover.Problem, m *inventory.Model, made *plan.Plan, err error) {
	fsys := fstest.MapFS{}
	for name, text := range files {
		fsys[name] = &fstest.MapFile{Data: text}
	}
	m, diags := readFiles(fsys, language.Options{LookupEnv: os.LookupEnv})
	if diags.HasErrors() {
		return saidBy(diags), m, nil, nil
	}
	l.give(m)
	quiet := access
	quiet.Emit = nil
	s, diags := quiet.Open(m)
	if diags.HasErrors() {
		return saidBy(diags), m, nil, nil
	}
	made, err = s.Plan(ctx, s.Input, false)
	return nil, m, made, errors.Join(err, s.Close())
}

// judgeMore does the same with files beside those that stand, whose logins count.
func (di *discoverer) judgeMore(ctx context.Context, access run.Access, dir string, files map[string][]byte) ([]discover.Problem, *inventory.Model, *plan.Plan, error) {
	fsys := fstest.MapFS{}
	err := fs.WalkDir(os.DirFS(dir), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() && name != "." && strings.HasPrefix(d.Name(), ".") {
			return errors.Join(err, fs.SkipDir)
		}
		if d.IsDir() || !d.Type().IsRegular() {
			return nil
		}
		text, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(name)))
		fsys[name] = &fstest.MapFile{Data: text}
		return err
	})
	if err != nil {
		return nil, nil, nil, fmt.Errorf("--out: %w", err)
	}
	given := map[string]string{} // names of files, by those that are free
	for name, text := range files {
		given[free(dir, name)] = name
		fsys[free(dir, name)] = &fstest.MapFile{Data: text}
	}
	m, diags, err := di.project.parse(fsys, nil)
	said := func() []discover.Problem {
		list := saidBy(diags)
		for i, p := range list {
			if list[i].File = given[p.File]; list[i].File == "" && p.File != "" {
				list[i] = discover.Problem{Text: p.String()} // of the files that stand
			}
		}
		return list
	}
	if err != nil || diags.HasErrors() {
		return said(), m, nil, err
	}
	access.Emit = nil
	s, diags := access.Open(m)
	if diags.HasErrors() {
		return said(), m, nil, nil
	}
	made, err := s.Plan(ctx, s.Input, false)
	return nil, m, made, errors.Join(err, s.Close())
}

// free is the name, or the first like it, that no file in the directory has.
func free(dir, name string) string {
	base := strings.TrimSuffix(name, ".weft.hcl")
	for n := 2; ; n++ {
		if _, err := os.Lstat(filepath.Join(dir, name)); err != nil {
			return name
		}
		name = fmt.Sprintf("%s-%d.weft.hcl", base, n)
	}
}

// saidBy are the errors of diagnostics.
func saidBy(diags hcl.Diagnostics) (list []discover.Problem) {
	for _, d := range diags {
		if d.Severity == hcl.DiagError {
			p := discover.Problem{Text: d.Summary + ": " + d.Detail}
			if d.Subject != nil {
				p.File, p.Line = d.Subject.Filename, d.Subject.Start.Line
			}
			list = append(list, p)
		}
	}
	return list
}
