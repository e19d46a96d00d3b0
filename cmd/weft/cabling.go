package main

import (
	"context"

	"github.com/spf13/cobra"

	"weft/internal/prove"
	"weft/internal/run"
	"weft/internal/view"
	"weft/plan"
)

// A cablingCommand is weft verify cabling.
type cablingCommand struct {
	opts   *options
	out    *printer
	fabric *fabric
}

func (cab *cablingCommand) command() *cobra.Command {
	return &cobra.Command{
		Use: "cabling", Short: "Compare cables with the declared links, and name the plugs to swap", Args: exactly(),
		Long: `cabling reads the LLDP neighbours of every managed switch on the ports of link blocks,
and compares them with the declared NICs and switches. For wrong plugs it prints which
ones to swap. A port without a neighbour, and output that weft does not understand,
neither confirm nor contradict a link.`,
		RunE: cab.out.does(func(ctx context.Context, _ []string) error {
			p, err := cab.fabric.visit()
			if err != nil {
				return err
			}
			defer p.Close()
			return cab.cabling(ctx, p)
		}),
	}
}

func (cab *cablingCommand) cabling(ctx context.Context, p *run.Site) error {
	res, err := p.Cables(ctx, nil, nil)
	if err != nil {
		return err
	}
	if cab.opts.json {
		for _, c := range res.Cables {
			e := plan.Event{Type: plan.EventVerdict, Device: c.Switch, Message: string(c.Verdict) + " " + c.Port + " " + c.Wants, Data: map[string]any{"cable": c}}
			if c.Verdict == prove.Fail {
				e.Level = "error"
			}
			cab.out.emit(e)
		}
		for _, s := range res.Swaps {
			cab.out.emit(plan.Event{Type: plan.EventNote, Level: "warn", Message: s})
		}
	} else {
		view.Heading(cab.out.stdout, cab.out.style(cab.out.stdout), "cabling", p.Model.Name, cab.opts.lab)
		view.Cabling(cab.out.stdout, res, cab.out.style(cab.out.stdout))
	}
	if res.Verdict != prove.Pass {
		return &quietError{proven(res.Verdict)}
	}
	return nil
}
