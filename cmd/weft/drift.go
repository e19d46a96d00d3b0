package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"weft/internal/selector"
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
		Use: "drift", Short: "Show changes on devices since weft applied them", Args: exactly(),
		Long: `drift compares the state that weft applied with the current state of devices. Servers
keep the applied state in their ledger, and switches keep a copy of the verified
configuration. If a switch lost that copy, every difference in lines with weft's name
counts as drift. Declared changes that were never applied are not drift; weft plan shows
them.

drift changes nothing on devices, and exits with 2 if it finds drift. A resource that
weft applied and cannot repair now, for example because another policy replaced it,
counts as drift. Conflicts over resources that weft never applied are listed separately.
--out saves a plan that repairs the drift and nothing else.

` + selector.Help,
		RunE: c.out.does(func(ctx context.Context, _ []string) error { return c.drift(ctx, f) }),
	}
	c.planner.scope(cmd, &f)
	cmd.Flags().StringVar(&f.out, "out", "", "save a plan that repairs the drift, for weft apply")
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
			Data: map[string]any{"drifted": made.Drifted(), "without_effect": len(made.Failing()), "refused": len(made.Refusals), "conflicts": len(apart)}})
		return &quietError{exitChanges}
	}
	return nil
}
