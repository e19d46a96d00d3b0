package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"weft/internal/bundle"
	"weft/internal/findings"
	"weft/internal/hint"
	"weft/internal/remote/ssh"
	"weft/internal/run"
	"weft/inventory"
	"weft/plan"
)

// A fabric makes devices of the files that can be dialled.
type fabric struct {
	opts    *options
	out     *printer
	project *project
	store   *runStore

	agents *bundle.Bundle // that are installed
	settle bool           // the command waits for timed reverts that a dead apply left on switches
}

// open expands a model and makes its devices dialable. Nothing is dialled.
func (f *fabric) open(m *inventory.Model) (*run.Site, error) {
	access, err := f.access()
	if err != nil {
		return nil, err
	}
	access.Settle, access.Say = f.settle, f.out.says
	f.out.names = namesIn(m)
	s, diags := access.Open(m)
	if err := f.out.diagnose(m, diags); err != nil {
		return nil, err
	}
	return s, nil
}

// visit loads the files and reaches their devices.
func (f *fabric) visit() (*run.Site, error) {
	m, err := f.project.load()
	if err != nil {
		return nil, err
	}
	return f.reach(m)
}

// reach makes the devices of a model dialable for what changes none of them:
// what is described and not managed yet does not matter to it.
func (f *fabric) reach(m *inventory.Model) (*run.Site, error) {
	access, err := f.access()
	if err != nil {
		return nil, err
	}
	f.out.names = namesIn(m)
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
func (f *fabric) access() (run.Access, error) {
	if f.opts.untrusted {
		return run.Access{Simulated: f.opts.lab, Agents: f.agents, Version: version(), Parallelism: f.opts.parallelism, Emit: f.out.emit, Closed: errUntrusted()}, nil
	}
	dialer, err := f.dialer()
	return run.Access{Dialer: dialer, Simulated: f.opts.lab, Agents: f.agents, Records: f.store.records(), Version: version(),
		Parallelism: f.opts.parallelism, Emit: f.out.emit, Hollow: f.hollow, VCenter: f.labVCenter}, err
}

func (f *fabric) dialer() (*ssh.Dialer, error) {
	c := ssh.Config{Warn: func(text string) { f.out.emit(plan.Event{Type: plan.EventNote, Level: "warn", Message: text}) }}
	if f.opts.lab {
		config, err := labConfig(f.opts.place())
		if err != nil {
			return nil, err
		}
		if config == "" {
			return nil, &codeError{exitUnreachable, hint.Wrap(errors.New("no lab is up for this directory"),
				"start one with: weft -C %s lab up --detach", f.opts.dir)}
		}
		c.ConfigFile = config
	}
	return ssh.NewDialer(c), nil
}

// openSaved opens the inventory that is saved with a plan.
func (f *fabric) openSaved(saved *plan.Plan) (*run.Site, error) {
	m, err := f.project.loadFrom(sourcesOf(saved), valuesOf(saved))
	if err != nil {
		return nil, err
	}
	return f.open(m)
}

// elsewhere is why there is no run here to go on with: one of the same owner that
// was begun elsewhere is on its way. What cannot be asked says nothing.
func (f *fabric) elsewhere(ctx context.Context) error {
	m, diags, err := f.project.parse(os.DirFS(f.opts.dir), nil)
	if err != nil || diags.HasErrors() {
		return nil
	}
	p, err := f.reach(m)
	if err != nil {
		return nil
	}
	defer p.Close()
	for _, mark := range p.Standing(ctx) {
		if mark.Owner == m.Name {
			return &codeError{exitHeld, hint.Wrap(plan.NewMarkedError(mark.Device, mark.Mark), "go on with it where it was begun: its record is in .weft/store there; if it will not be: weft apply --takeover=%s", mark.Run)}
		}
	}
	return nil
}

// warnMarked says whose runs devices belong to.
func (f *fabric) warnMarked(ctx context.Context, p *run.Site) {
	for _, m := range p.Standing(ctx) {
		f.out.emit(plan.Event{Type: plan.EventDiagnostic, Level: "warn", Device: m.Device,
			Message: fmt.Sprintf("%s is locked by %s: results may change during the measurement", m.Device, m.Text()), Data: map[string]any{"mark": m.Mark}})
	}
}
