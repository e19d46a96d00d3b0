package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing/fstest"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"weft/internal/hint"
	"weft/internal/slice"
	"weft/inventory"
	"weft/inventory/language"
	"weft/modules"
)

// A project is the files of --chdir.
type project struct {
	opts *options
	out  *printer
}

// load reads the model and reports what is wrong with it.
func (p *project) load() (*inventory.Model, error) {
	fsys, err := p.fs()
	if err != nil {
		return nil, err
	}
	return p.loadFrom(fsys, nil)
}

func (p *project) loadFrom(fsys fs.FS, values map[string]json.RawMessage) (*inventory.Model, error) {
	m, diags, err := p.parse(fsys, values)
	if err != nil {
		return nil, err
	}
	return m, p.out.diagnose(m, diags)
}

// readFiles reads files in the whole language: with the blocks that kinds declare.
func readFiles(fsys fs.FS, o language.Options) (*inventory.Model, hcl.Diagnostics) {
	o.Blocks = modules.Blocks()
	return language.Load(fsys, o)
}

// parse reads the model and what is wrong with it, and reports nothing.
func (p *project) parse(fsys fs.FS, values map[string]json.RawMessage) (*inventory.Model, hcl.Diagnostics, error) {
	o := language.Options{Vars: p.opts.vars, LookupEnv: os.LookupEnv, Values: values, Secrets: os.DirFS(p.opts.dir), Untrusted: p.opts.untrusted}
	if p.opts.untrusted {
		o.Secrets = fstest.MapFS{}
	}
	for _, name := range p.opts.varFiles {
		text, err := p.varFile(fsys, name)
		if err != nil {
			return nil, nil, hint.Wrap(fmt.Errorf("--var-file: %w", err), "a relative path is looked up in --chdir (%s)", p.opts.dir)
		}
		o.VarFiles = append(o.VarFiles, language.VarFile{Name: name, Content: text})
	}
	if _, err := fs.Stat(fsys, "."); err != nil {
		var at *fs.PathError // "stat .", which is no place that anybody named
		if errors.As(err, &at) {
			err = at.Err
		}
		return nil, nil, fmt.Errorf("--chdir %s: %w", p.opts.dir, err)
	}
	m, diags := readFiles(fsys, o)
	return m, diags, nil
}

// varFile reads a file of values. One in the directory of files that are not
// trusted is read as these are.
func (p *project) varFile(fsys fs.FS, name string) ([]byte, error) {
	switch {
	case filepath.IsAbs(name):
		return os.ReadFile(name)
	case p.opts.untrusted:
		return fs.ReadFile(fsys, filepath.ToSlash(filepath.Clean(name)))
	}
	return os.ReadFile(filepath.Join(p.opts.dir, name))
}

// expand makes resources of a model, and reports what of it weft cannot bring
// about whatever the devices say.
func (p *project) expand(m *inventory.Model, env modules.Env) (*modules.Fleet, error) {
	fleet, diags := modules.Expand(m, env)
	return fleet, p.out.diagnose(m, diags)
}

// problems is all that is wrong with the files.
func (p *project) problems() (*inventory.Model, hcl.Diagnostics, error) {
	fsys, err := p.fs()
	if err != nil {
		return nil, nil, err
	}
	m, diags, err := p.parse(fsys, nil)
	if err != nil || diags.HasErrors() {
		return m, diags, err
	}
	_, more := modules.Expand(m, offline())
	return m, append(diags, more...), nil
}

// declared are the names of the blocks of a type; nothing is evaluated for that.
func (p *project) declared(kind string) []string {
	m, _ := readFiles(os.DirFS(p.opts.dir), language.Options{LookupEnv: os.LookupEnv})
	var names []string
	for _, f := range m.Files {
		body, ok := f.Body.(*hclsyntax.Body)
		if !ok {
			continue // a broken file
		}
		for _, b := range body.Blocks {
			if b.Type == kind && len(b.Labels) == 1 {
				names = append(names, b.Labels[0])
			}
		}
	}
	slices.Sort(names)
	return names
}

// variables are the names of those that the files declare, each with "=".
func (p *project) variables() []string {
	return slice.Map(p.declared("variable"), func(name string) string { return name + "=" })
}
