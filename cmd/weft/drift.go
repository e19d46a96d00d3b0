package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"weft/internal/view"
	"weft/plan"
)

func (a *app) driftCmd() *cobra.Command {
	var f planFlags
	cmd := &cobra.Command{
		Use: "drift", Short: "Show drift: what changed on devices since weft applied it", Args: exactly(),
		Long: `drift compares what weft applied, which every server remembers in its ledger,
with what is there now; a switch has kept a copy of its configuration as that was
proven. What the files declare and nobody has applied yet is no drift: weft plan
shows that. Where a switch has lost that copy, all that carries weft's name and
differs has drifted. It changes nothing, and exits 2 when there is any.
--out saves the plan that sets right what has drifted, and nothing else.`,
		RunE: a.does(func(ctx context.Context, _ []string) error { return a.drift(ctx, f) }),
	}
	f.scope(cmd)
	cmd.Flags().StringVar(&f.out, "out", "", "save the plan that sets it right, for weft apply")
	output(cmd.Flags(), "out")
	return cmd
}

func (a *app) drift(ctx context.Context, f planFlags) error {
	p, made, err := a.plan(ctx, f)
	if err != nil {
		return err
	}
	defer p.Close()
	pending := 0
	if pending, err = made.OnlyDrift(); err != nil {
		return err
	}
	if !a.json {
		f.show.Style = a.style(a.stdout)
		view.Drift(a.stdout, made, pending, f.show)
	}
	if f.out != "" && len(made.Steps) > 0 {
		if err := a.save(ctx, made, f); err != nil {
			return err
		}
	}
	switch {
	case made.Incomplete() != nil:
		return &quietError{incomplete(made.Incomplete())}
	case len(made.Steps) > 0:
		a.emit(plan.Event{Type: plan.EventDiagnostic, Level: "warn", Message: fmt.Sprintf("%d resources have drifted", len(made.Steps)),
			Data: map[string]any{"drifted": len(made.Steps)}})
		return &quietError{exitChanges}
	}
	return nil
}
