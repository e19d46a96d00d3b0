package main

import (
	"context"

	"github.com/spf13/cobra"

	"weft/internal/prove"
	"weft/internal/run"
	"weft/internal/view"
	"weft/plan"
)

func (a *app) cablingCmd() *cobra.Command {
	return &cobra.Command{
		Use: "cabling", Short: "Prove that cables are where the links say, and say which plugs to swap", Args: exactly(),
		Long: `cabling asks every managed switch whom it hears with LLDP on the ports that links
name, and compares that with the NICs and switches that are declared there. For
wrong plugs it says what to swap. A port where nobody is heard proves nothing, and
nor does an answer that is not understood.`,
		RunE: a.does(func(ctx context.Context, _ []string) error {
			p, err := a.visit()
			if err != nil {
				return err
			}
			defer p.Close()
			return a.cabling(ctx, p)
		}),
	}
}

func (a *app) cabling(ctx context.Context, p *run.Site) error {
	res, err := p.Cables(ctx, nil, nil)
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
		view.Heading(a.stdout, a.style(a.stdout), "cabling", p.Model.Name, a.lab)
		view.Cabling(a.stdout, res, a.style(a.stdout))
	}
	if res.Verdict != prove.Pass {
		return &quietError{proven(res.Verdict)}
	}
	return nil
}
