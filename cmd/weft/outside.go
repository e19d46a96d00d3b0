package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing/fstest"

	"github.com/hashicorp/hcl/v2"

	"weft/internal/remote/ssh"
	"weft/internal/run"
	"weft/internal/slice"
	"weft/internal/view"
	"weft/inventory"
	"weft/inventory/language"
	"weft/plan"
)

// outsideOf finds out what applying a saved plan would use of this machine.
// It reads neither the environment nor files for the plan, and runs nothing
// of it.
func (sho *showCommand) outsideOf(ctx context.Context, saved *plan.Plan) *view.Outside {
	sources := sourcesOf(saved)
	o := &view.Outside{Taken: []view.Taken{}, Hosts: []view.Host{}}
	for _, u := range language.Uses(sources, saved.Inputs) {
		for _, c := range u.Calls {
			t := view.Taken{What: taken(c), Call: c.Text, Place: u.Place, At: view.Place(u.Range)}
			if c.Here {
				t.With = slice.Map(u.With, func(g language.Given) string { return g.Place + " = " + g.Text })
			}
			o.Taken = append(o.Taken, t)
		}
		for _, v := range u.Sensitive {
			if !slices.Contains(o.Variables, v) {
				o.Variables = append(o.Variables, v)
			}
		}
	}
	m, diags := readFiles(sources, language.Options{Values: valuesOf(saved), Secrets: fstest.MapFS{}, LookupEnv: standIn})
	for _, d := range diags {
		if d.Severity != hcl.DiagError {
			continue
		}
		where := ""
		if d.Subject != nil {
			where = " (" + view.Place(*d.Subject) + ")"
		}
		o.Unknown = append(o.Unknown, "not all hosts are known without what the files take from this machine: "+d.Summary+where)
		break
	}
	sho.hostsOf(ctx, m, o, !diags.HasErrors())
	return o
}

// standsIn begins what stands for a variable of the environment, of which
// nothing gets into what is shown.
const standsIn = "from-env-"

func standIn(name string) (string, bool) {
	return standsIn + strings.ReplaceAll(name, "_", "-"), true
}

// taken says what a call takes.
func taken(c language.Call) string {
	switch {
	case c.Function == "exec":
		return "program"
	case c.Function == "env":
		return "variable"
	case !c.Here:
		return "text" // that the plan holds
	}
	return "file"
}

// hostsOf adds the devices of a model; resolve says whether their names may be
// asked about.
func (sho *showCommand) hostsOf(ctx context.Context, m *inventory.Model, o *view.Outside, resolve bool) {
	p := run.Access{Simulated: sho.opts.lab}.Of(m)
	var targets []ssh.Target
	add := func(device string, t ssh.Target, login *inventory.Credential) {
		h := view.Host{Device: device, Name: t.Name, Port: t.Port, User: t.User, Become: t.Become}
		if login != nil {
			h.User = login.User
			if login.Password != nil {
				h.Login = login.Password.From
			}
		}
		t.User = h.User
		o.Hosts, targets = append(o.Hosts, h), append(targets, t)
	}
	for _, sw := range m.Switches {
		t := p.Target(sw.Host, sw.Connection)
		t.Become = ""
		add(sw.Addr, t, sw.Credential)
	}
	for _, s := range m.Servers {
		add(s.Addr, p.OfServer(s), s.Credential)
	}
	for i, h := range o.Hosts {
		switch {
		case h.Name == "":
			o.Hosts[i].Error = "its host is not known here"
		case strings.Contains(h.Name, standsIn):
			o.Hosts[i].Error = "its host comes from the environment of the user who applies the plan"
		}
	}
	if sho.opts.untrusted {
		o.Unknown = append(o.Unknown, "how hosts would be reached: WEFT_UNTRUSTED lets nothing be asked about that")
	}
	if !resolve || sho.opts.untrusted {
		return
	}
	ways, err := sho.waysTo(ctx, o.Hosts, targets)
	if err != nil {
		o.Unknown = append(o.Unknown, fmt.Sprintf("how hosts would be reached: %v", err))
		return
	}
	for i, w := range ways {
		if o.Hosts[i].Error != "" {
			continue
		}
		h := &o.Hosts[i]
		h.Address, h.Port, h.User, h.Jumps = w.Host, w.Port, w.User, w.Jumps
		o.Files = append(o.Files, w.Files...)
		if w.Agent != "" {
			o.Agents = append(o.Agents, w.Agent)
		}
		if w.Asks != "" {
			o.Programs = append(o.Programs, w.Asks+" -G, about each host")
		}
	}
	for _, list := range []*[]string{&o.Files, &o.Agents, &o.Programs} {
		slices.Sort(*list)
		*list = slices.Compact(*list)
	}
}

// waysTo finds out how hosts without an error would be reached; one that cannot
// be gets an error.
func (sho *showCommand) waysTo(ctx context.Context, hosts []view.Host, targets []ssh.Target) ([]ssh.Way, error) {
	dialer, err := sho.fabric.dialer()
	if err != nil {
		return nil, err
	}
	ways := make([]ssh.Way, len(targets))
	var work sync.WaitGroup
	slots := make(chan struct{}, max(sho.opts.parallelism, 1))
	for i, t := range targets {
		if hosts[i].Error != "" {
			continue
		}
		slots <- struct{}{}
		work.Go(func() {
			defer func() { <-slots }()
			var err error
			if ways[i], err = dialer.Way(ctx, t); err != nil {
				hosts[i].Error = err.Error()
			}
		})
	}
	work.Wait()
	return ways, nil
}
