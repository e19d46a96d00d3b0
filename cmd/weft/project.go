package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing/fstest"

	"github.com/hashicorp/hcl/v2"

	"weft/internal/findings"
	"weft/internal/hint"
	"weft/internal/remote/ssh"
	"weft/internal/run"
	"weft/internal/view"
	"weft/inventory"
	"weft/inventory/language"
	"weft/modules"
	"weft/plan"
)

// load reads the model and reports what is wrong with it.
func (a *app) load() (*inventory.Model, error) {
	fsys, err := a.files()
	if err != nil {
		return nil, err
	}
	return a.loadFrom(fsys, nil)
}

func (a *app) loadFrom(fsys fs.FS, values map[string]json.RawMessage) (*inventory.Model, error) {
	m, diags, err := a.parse(fsys, values)
	if err != nil {
		return nil, err
	}
	return m, a.report(m, diags)
}

// readFiles reads files in the whole language: with the blocks that kinds declare.
func readFiles(fsys fs.FS, o language.Options) (*inventory.Model, hcl.Diagnostics) {
	o.Blocks = modules.Blocks()
	return language.Load(fsys, o)
}

// parse reads the model and what is wrong with it, and reports nothing.
func (a *app) parse(fsys fs.FS, values map[string]json.RawMessage) (*inventory.Model, hcl.Diagnostics, error) {
	o := language.Options{Vars: a.vars, LookupEnv: os.LookupEnv, Values: values, Secrets: os.DirFS(a.dir), Untrusted: a.untrusted}
	if a.untrusted {
		o.Secrets = fstest.MapFS{}
	}
	for _, name := range a.varFiles {
		text, err := a.varFile(fsys, name)
		if err != nil {
			return nil, nil, hint.Wrap(fmt.Errorf("--var-file: %w", err), "a relative path is looked up in --chdir (%s)", a.dir)
		}
		o.VarFiles = append(o.VarFiles, language.VarFile{Name: name, Content: text})
	}
	if _, err := fs.Stat(fsys, "."); err != nil {
		var at *fs.PathError // "stat .", which is no place that anybody named
		if errors.As(err, &at) {
			err = at.Err
		}
		return nil, nil, fmt.Errorf("--chdir %s: %w", a.dir, err)
	}
	m, diags := readFiles(fsys, o)
	return m, diags, nil
}

// varFile reads a file of values. One in the directory of files that are not
// trusted is read as these are.
func (a *app) varFile(fsys fs.FS, name string) ([]byte, error) {
	switch {
	case filepath.IsAbs(name):
		return os.ReadFile(name)
	case a.untrusted:
		return fs.ReadFile(fsys, filepath.ToSlash(filepath.Clean(name)))
	}
	return os.ReadFile(filepath.Join(a.dir, name))
}

// report shows diagnostics; it returns an error when one of them is.
func (a *app) report(m *inventory.Model, diags hcl.Diagnostics) error {
	if a.json {
		for _, d := range diags {
			a.emit(diagnosticEvent(d))
		}
	} else if len(diags) > 0 {
		a.names = namesIn(m)
		if err := view.Diagnostics(a.stderr, a.style(a.stderr), m.Files, diags); err != nil {
			return err
		}
	}
	if diags.HasErrors() {
		return &quietError{exitError}
	}
	return nil
}

func diagnosticEvent(d *hcl.Diagnostic) plan.Event {
	e := plan.Event{Type: plan.EventDiagnostic, Level: "error", Message: d.Summary,
		Data: map[string]any{"summary": d.Summary, "detail": d.Detail}}
	if d.Severity == hcl.DiagWarning {
		e.Level = "warn"
	}
	if d.Subject != nil {
		e.Data["range"] = view.Place(*d.Subject)
	}
	return e
}

// open expands a model and makes its devices dialable. Nothing is dialled.
func (a *app) open(m *inventory.Model) (*run.Site, error) {
	access, err := a.access()
	if err != nil {
		return nil, err
	}
	access.Settle, access.Say = a.settle, a.says
	a.names = namesIn(m)
	s, diags := access.Open(m)
	if err := a.report(m, diags); err != nil {
		return nil, err
	}
	return s, nil
}

// visit loads the files and reaches their devices.
func (a *app) visit() (*run.Site, error) {
	m, err := a.load()
	if err != nil {
		return nil, err
	}
	return a.reach(m)
}

// reach makes the devices of a model dialable for what changes none of them:
// what is described and not managed yet does not matter to it.
func (a *app) reach(m *inventory.Model) (*run.Site, error) {
	access, err := a.access()
	if err != nil {
		return nil, err
	}
	a.names = namesIn(m)
	s, _ := access.Open(m)
	return s, nil
}

// namesIn are the names of devices and ports that errors and findings repeat: those that differ
// in nothing else are shown as one.
func namesIn(m *inventory.Model) findings.Names {
	n := findings.Names{}
	for _, s := range m.Servers {
		n.Add(s.Addr, s.Host)
	}
	for _, s := range m.Switches {
		n.Add(s.Addr, s.Host)
	}
	for _, t := range m.Targets {
		n.Add(t.Addr)
	}
	for _, l := range m.Links {
		n.Add(l.From.Port, l.To.Port)
	}
	return n
}

// access is how this command reaches devices.
func (a *app) access() (run.Access, error) {
	if a.untrusted {
		return run.Access{Simulated: a.lab, Agents: a.agents, Version: version(), Parallelism: a.parallelism, Emit: a.emit, Closed: errUntrusted()}, nil
	}
	dialer, err := a.dialer()
	return run.Access{Dialer: dialer, Simulated: a.lab, Agents: a.agents, Records: a.runs(), Version: version(),
		Parallelism: a.parallelism, Emit: a.emit, Hollow: a.hollow, VCenter: a.labVCenter}, err
}

// expand makes resources of a model, and reports what of it weft cannot bring
// about whatever the devices say.
func (a *app) expand(m *inventory.Model, env modules.Env) (*modules.Fleet, error) {
	fleet, diags := modules.Expand(m, env)
	return fleet, a.report(m, diags)
}

// says shows what a device has to say while something takes long.
func (a *app) says(device, text string) {
	a.emit(plan.Event{Type: plan.EventHeartbeat, Device: device, Message: text})
}

func (a *app) dialer() (*ssh.Dialer, error) {
	c := ssh.Config{Warn: func(text string) { a.emit(plan.Event{Type: plan.EventNote, Level: "warn", Message: text}) }}
	if a.lab {
		config, err := labConfig(a.place())
		if err != nil {
			return nil, err
		}
		if config == "" {
			return nil, &codeError{exitUnreachable, hint.Wrap(errors.New("no lab is up for this directory"),
				"start one with: weft -C %s lab up --detach", a.dir)}
		}
		c.ConfigFile = config
	}
	return ssh.NewDialer(c), nil
}
