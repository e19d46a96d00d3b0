package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"weft/internal/view"
	"weft/plan"
)

// A driftCommand is weft drift.
type driftCommand struct {
	opts    *options
	out     *printer
	planner *planner
}

func (c *driftCommand) command() *cobra.Command {
	var f planFlags
	cmd := &cobra.Command{
		Use: "drift", Short: "Show drift: what changed on devices since weft applied it", Args: exactly(),
		Long: `drift compares what weft applied, which every server remembers in its ledger,
with what is there now; a switch has kept a copy of its configuration as that was
proven. What the files declare and nobody has applied yet is no drift: weft plan
shows that. Where a switch has lost that copy, all that carries weft's name and
differs has drifted. It changes nothing, and exits 2 when there is any.
A resource that weft has applied and that cannot be set right now, as where another
policy has taken its place, has drifted too; conflicts over what weft has never applied
are listed apart. --out saves the plan that sets right what has drifted, and nothing else.`,
		RunE: c.out.does(func(ctx context.Context, _ []string) error { return c.drift(ctx, f) }),
	}
	f.scope(cmd)
	cmd.Flags().StringVar(&f.out, "out", "", "save the plan that sets it right, for weft apply")
	output(cmd.Flags(), "out")
	return cmd
}

func (c *driftCommand) drift(ctx context.Context, f planFlags) error {
	p, made, err := c.planner.plan(ctx, f)
	if err != nil {
		return err
	}
	defer p.Close()
	pending, apart, err := made.OnlyDrift()
	if err != nil {
		return err
	}
	if !c.opts.json {
		f.show.Style = c.out.style(c.out.stdout)
		view.Drift(c.out.stdout, made, pending, apart, f.show)
	}
	if f.out != "" && made.Drifted() > 0 {
		if err := c.planner.save(ctx, made, f); err != nil {
			return err
		}
	}
	switch {
	case made.Incomplete() != nil:
		return &quietError{incomplete(made.Incomplete())}
	case made.Drifted() > 0:
		c.out.emit(plan.Event{Type: plan.EventDiagnostic, Level: "warn", Message: fmt.Sprintf("%d resources have drifted", made.Drifted()),
			Data: map[string]any{"drifted": made.Drifted(), "refused": len(made.Refusals), "conflicts": len(apart)}})
		return &quietError{exitChanges}
	}
	return nil
}
