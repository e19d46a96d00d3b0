package main

import (
	"context"
	"sync"

	"github.com/spf13/cobra"

	"weft/internal/prove"
	"weft/internal/remote"
	"weft/internal/view"
	"weft/inventory"
	"weft/modules"
	"weft/plan"
	"weft/switches"
)

func (a *app) cablingCmd() *cobra.Command {
	return &cobra.Command{
		Use: "cabling", Short: "Prove that cables are where the links say, and say which plugs to swap", Args: exactly(),
		Long: `cabling asks every managed switch whom it hears with LLDP on the ports that links
name, and compares that with the NICs and switches that are declared there. For
wrong plugs it says what to swap. A port where nobody is heard proves nothing.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			a.begin(cmd)
			p, err := a.visit()
			if err != nil {
				return err
			}
			defer p.Close()
			return a.cabling(cmd.Context(), p)
		},
	}
}

func (a *app) cabling(ctx context.Context, p *project) error {
	res, err := cables(ctx, p, nil, nil)
	if err != nil {
		return err
	}
	if a.json {
		for _, c := range res.Cables {
			e := plan.Event{Type: plan.EventVerdict, Device: c.Switch, Message: string(c.Verdict) + " " + c.Port + " " + c.Wants, Data: map[string]any{"cable": c}}
			if c.Verdict == prove.Fail {
				e.Level = "error"
			}
			a.emit(e)
		}
		for _, s := range res.Swaps {
			a.emit(plan.Event{Type: plan.EventNote, Level: "warn", Message: s})
		}
	} else {
		view.Heading(a.stdout, a.style(a.stdout), "cabling", p.model.Name, a.lab)
		view.Cabling(a.stdout, res, a.style(a.stdout))
	}
	if res.Verdict != prove.Pass {
		return &quietError{proven(res.Verdict)}
	}
	return nil
}

// cables compares what switches hear with the links: those that only allows,
// all where it is nil, and ports that are freed.
func cables(ctx context.Context, p *project, only func(*inventory.Switch) bool, freed map[*inventory.Switch][]string) (*prove.Cabling, error) {
	hosts := &logins{project: p}
	defer hosts.end()
	return prove.Cables(ctx, prove.CablingInput{
		Model: p.model, Host: hosts.host, Only: only, Freed: freed,
		Heard: func(ctx context.Context, sw *inventory.Switch) ([]switches.Neighbour, error) {
			d, err := plan.As[modules.Listener](p.fleet.Devices, sw.Addr, "hears no neighbours")
			if err != nil {
				return nil, err
			}
			return d.Heard(ctx)
		},
	})
}

// logins are the logins of a measurement on servers, which end with it.
type logins struct {
	*project
	mu  sync.Mutex
	all []func() error
}

// host logs in to a server.
func (l *logins) host(ctx context.Context, s *inventory.Server) (remote.Host, error) {
	host, end, err := l.project.host(s)(ctx, false)
	if err == nil {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.all = append(l.all, end)
	}
	return host, err
}

func (l *logins) end() {
	for _, end := range l.all {
		_ = end() // what was measured is measured
	}
}
