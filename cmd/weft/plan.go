package main

import (
	"context"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"weft/internal/view"
	"weft/plan"
)

type planFlags struct {
	out      string
	detailed bool
	lines    bool
}

func (a *app) planCmd() *cobra.Command {
	var f planFlags
	cmd := &cobra.Command{
		Use: "plan", Short: "Read every device and show what would change", Args: exactly(),
		Long: "plan reads every device, compares it with the files and shows the difference.\nIt changes nothing.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			a.begin(cmd)
			p, made, err := a.plan(cmd.Context())
			if err != nil {
				return err
			}
			defer p.Close()
			return a.planned(made, f)
		},
	}
	cmd.Flags().StringVar(&f.out, "out", "", "save the plan to a file for weft apply and weft show")
	cmd.Flags().BoolVar(&f.detailed, "detailed-exitcode", false, "exit 2 when there are changes")
	cmd.Flags().BoolVar(&f.lines, "show-config", false, "also show the exact lines that would be sent, and their undo")
	return cmd
}

// plan loads, opens and plans. The project is open when there is no error.
func (a *app) plan(ctx context.Context) (*project, *plan.Plan, error) {
	m, err := a.load()
	if err != nil {
		return nil, nil, err
	}
	p, err := a.open(m)
	if err != nil {
		return nil, nil, err
	}
	made, err := plan.Make(ctx, p.input)
	if err != nil {
		p.Close()
		return nil, nil, err
	}
	return p, made, nil
}

// planned shows and saves a plan and says how the command ends.
func (a *app) planned(p *plan.Plan, f planFlags) error {
	if !a.json {
		view.Plan(a.stdout, p, view.Options{Style: a.style(a.stdout), Lines: f.lines})
	}
	if f.out != "" {
		if err := save(p, f.out); err != nil {
			return err
		}
	}
	switch {
	case len(p.Unreachable()) > 0:
		return &quietError{exitUnreachable}
	case len(p.Refusals) > 0:
		return &quietError{exitError}
	case f.detailed && len(p.Steps) > 0:
		return &quietError{exitChanges}
	}
	return nil
}

// save writes a plan file whole or not at all, for its owner only.
func save(p *plan.Plan, path string) error {
	tmp := path + ".new"
	w, err := os.OpenFile(tmp, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return fmt.Errorf("--out: %w", err)
	}
	defer os.Remove(tmp)
	if err := p.Write(w); err != nil {
		w.Close()
		return fmt.Errorf("--out: %w", err)
	}
	if err := w.Close(); err != nil {
		return fmt.Errorf("--out: %w", err)
	}
	return os.Rename(tmp, path)
}
