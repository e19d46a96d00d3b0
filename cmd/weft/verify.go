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

func (a *app) verifyCmd() *cobra.Command {
	return &cobra.Command{
		Use: "verify [VALIDATION…]", Short: "Measure the fabric and judge it against its limits",
		Long: `verify reads from every target over every plane from every initiator, prints the
latencies, and judges them against the limits of the validation blocks. What
switch ports and NICs count is read before and after, and judged by how it has
grown. It only reads. Without names every validation is run.`,
		RunE: func(cmd *cobra.Command, names []string) error {
			a.begin(cmd)
			m, err := a.load()
			if err != nil {
				return err
			}
			p, err := a.open(m)
			if err != nil {
				return err
			}
			defer p.Close()
			return a.verify(cmd.Context(), p, names)
		},
	}
}

// A scope is what a measurement is about, where that is not everything.
type scope struct {
	there func(*inventory.Server, *inventory.Target) bool // pairs whose agents are deployed; nil: all
	ready func(device, port string) bool                  // ports and NICs that are rolled out; nil: all
	since *prove.Reading                                  // to count from; nil: from now
}

// measureIn runs validations; without names all of them.
func (a *app) measureIn(ctx context.Context, p *project, names []string, of scope) (*prove.Result, error) {
	var mu sync.Mutex
	var logins []func() error
	defer func() {
		for _, end := range logins {
			end()
		}
	}()
	return prove.Run(ctx, prove.Input{
		Model: p.model, Names: names, There: of.there, Ready: of.ready, Since: of.since, Emit: a.emit,
		Host: func(ctx context.Context, s *inventory.Server) (remote.Host, error) {
			host, end, err := p.host(s)(ctx, false)
			if err == nil {
				mu.Lock()
				defer mu.Unlock()
				logins = append(logins, end)
			}
			return host, err
		},
		Switch: func(ctx context.Context, sw *inventory.Switch, ports []string) (*switches.Counted, error) {
			return modules.ReadCounters(ctx, p.fleet.Devices[sw.Addr], ports)
		},
		Volume: func(v *inventory.Volume) string { return modules.VolumePath(p.model.Name, v) },
	})
}

func (a *app) verify(ctx context.Context, p *project, names []string) error {
	res, err := a.measureIn(ctx, p, names, scope{})
	if err != nil {
		return err
	}
	if a.json {
		for _, j := range res.Judgements {
			e := plan.Event{Type: plan.EventVerdict, Message: string(j.Verdict) + " " + j.Metric + " " + j.Pair,
				Data: map[string]any{"judgement": j}}
			if j.Verdict == prove.Fail {
				e.Level = "error"
			}
			a.emit(e)
		}
	} else {
		view.Heading(a.stdout, a.style(a.stdout), "verify", p.model.Name, a.lab)
		view.Verify(a.stdout, res, a.style(a.stdout))
	}
	if res.Verdict != prove.Pass {
		return &quietError{proven(res.Verdict)}
	}
	return nil
}
