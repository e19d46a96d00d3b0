package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/hashicorp/hcl/v2"

	"weft/internal/hint"
	"weft/internal/prove"
	"weft/internal/remote"
	"weft/internal/remote/ssh"
	"weft/internal/run"
	"weft/internal/view"
	"weft/inventory"
	"weft/inventory/language"
	"weft/modules"
	"weft/plan"
	"weft/switches"
)

// load reads the model and reports what is wrong with it.
func (a *app) load() (*inventory.Model, error) {
	return a.loadFrom(os.DirFS(a.dir), nil)
}

func (a *app) loadFrom(fsys fs.FS, values map[string]json.RawMessage) (*inventory.Model, error) {
	m, diags, err := a.parse(fsys, values)
	if err != nil {
		return nil, err
	}
	return m, a.report(m, diags)
}

// parse reads the model and what is wrong with it, and reports nothing.
func (a *app) parse(fsys fs.FS, values map[string]json.RawMessage) (*inventory.Model, hcl.Diagnostics, error) {
	o := language.Options{Vars: a.vars, LookupEnv: os.LookupEnv, Values: values, Secrets: os.DirFS(a.dir)}
	for _, name := range a.varFiles {
		path := name
		if !filepath.IsAbs(path) {
			path = filepath.Join(a.dir, name)
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, nil, hint.Wrap(fmt.Errorf("--var-file: %w", err), "a relative path is looked up in --chdir (%s)", a.dir)
		}
		o.VarFiles = append(o.VarFiles, language.VarFile{Name: name, Content: text})
	}
	if _, err := fs.Stat(fsys, "."); err != nil {
		return nil, nil, fmt.Errorf("--chdir %s: %w", a.dir, err)
	}
	m, diags := language.Load(fsys, o)
	return m, diags, nil
}

// report shows diagnostics; it returns an error when one of them is.
func (a *app) report(m *inventory.Model, diags hcl.Diagnostics) error {
	if a.json {
		for _, d := range diags {
			a.emit(diagnosticEvent(d))
		}
	} else if len(diags) > 0 {
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

// A project is a model with its devices within reach.
type project struct {
	lab    bool
	model  *inventory.Model
	fleet  *modules.Fleet
	input  plan.Input
	dialer *ssh.Dialer
	adjust func(*ssh.Target) // of servers; may be nil
	cables *cableLook        // what LLDP told when the plan was made; nil: nobody has asked
}

// open expands a model and makes its devices dialable. Nothing is dialled.
func (a *app) open(m *inventory.Model) (*project, error) {
	p := &project{lab: a.lab, model: m}
	var err error
	if p.dialer, err = a.dialer(); err != nil {
		return nil, err
	}
	fleet, err := a.expand(m, modules.Env{Bundle: a.agents, Holder: run.Holder(), Mine: a.mine, Host: p.host, Terminal: p.terminal,
		Settle: a.settle, Say: a.says})
	if err != nil {
		return nil, err
	}
	p.fleet = fleet
	p.input = plan.Input{
		Owner: m.Name, Simulated: a.lab, Version: version(), Items: fleet.Items, Devices: fleet.Devices,
		Notes: append(fleet.Notes, prove.Notes(m)...), Inputs: m.Inputs, Sources: map[string]string{},
		Roster: fleet.Roster, Removed: fleet.Removed, Recall: fleet.Recall,
		Parallelism: a.parallelism, Emit: a.emit, Mine: a.mine,
	}
	for name, text := range m.Sources {
		p.input.Sources[name] = string(text)
	}
	return p, nil
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
		c.ConfigFile = filepath.Join(a.place(), ".weft", "lab", "ssh_config")
		if _, err := os.Stat(c.ConfigFile); errors.Is(err, fs.ErrNotExist) {
			return nil, &codeError{exitUnreachable, hint.Wrap(errors.New("no lab is up for this directory"),
				"start one with: weft -C %s lab up --detach", a.dir)}
		}
	}
	return ssh.NewDialer(c), nil
}

// Close ends every login.
func (p *project) Close() error { return p.fleet.Close() }

// host says how to log in to a server.
func (p *project) host(s *inventory.Server) modules.DialHost {
	return func(ctx context.Context, fresh bool) (remote.Host, func() error, error) {
		dial := p.dialer.Dial
		if fresh {
			dial = p.dialer.DialNew
		}
		t := p.target(s.Host, s.Connection)
		if p.adjust != nil {
			p.adjust(&t)
		}
		c, err := dial(ctx, t)
		if err != nil {
			return nil, nil, err
		}
		return c, c.Close, nil
	}
}

// terminal says how to log in to a switch, afresh each time.
func (p *project) terminal(sw *inventory.Switch) switches.Dial {
	return func(ctx context.Context) (io.ReadWriteCloser, error) {
		t := p.target(sw.Host, sw.Connection)
		t.Become = ""
		if sw.Credential != nil {
			t.User = sw.Credential.User
			if sw.Credential.Password != nil {
				t.Password = sw.Credential.Password.Read
			}
		}
		c, err := p.dialer.DialNew(ctx, t)
		if err != nil {
			return nil, err
		}
		// Ctrl-C must not cut the terminal over which the switch is reverted.
		term, err := c.Terminal(context.WithoutCancel(ctx), 511, 1000)
		if err != nil {
			return nil, errors.Join(err, c.Close())
		}
		return login{term, c}, nil
	}
}

// A login is a terminal that ends its connection with itself.
type login struct {
	io.ReadWriteCloser
	client io.Closer
}

func (l login) Close() error { return errors.Join(l.ReadWriteCloser.Close(), l.client.Close()) }

func (p *project) target(host string, c *inventory.Connection) ssh.Target {
	if c == nil {
		c = p.model.DefaultConnection()
	}
	t := ssh.Target{
		Name: host, User: c.User, Port: c.Port, Become: c.Become,
		ConnectTimeout: c.ConnectTimeout, CommandTimeout: c.CommandTimeout,
	}
	if p.lab {
		t.Port = 0 // the lab's ports are its own
	}
	return t
}
