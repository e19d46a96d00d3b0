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
		Use: "cabling", Short: "Prove that cables are where the links say, and say which plugs to swap", Args: exactly(),
		Long: `cabling asks every managed switch whom it hears with LLDP on the ports that links
name, and compares that with the NICs and switches that are declared there. For
wrong plugs it says what to swap. A port where nobody is heard proves nothing, and
nor does an answer that is not understood.`,
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
