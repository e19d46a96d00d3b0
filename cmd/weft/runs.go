package main

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"weft/internal/run"
	"weft/internal/text"
	"weft/plan"
	"weft/plan/rollout"
)

// A runsCommand is weft runs.
type runsCommand struct {
	opts  *options
	out   *printer
	store *runStore
}

func (c *runsCommand) command() *cobra.Command {
	var all bool
	cmd := &cobra.Command{
		Use: "runs", Short: "List active runs", Args: exactly(),
		Long: `runs lists the active runs in the store of this directory, or of --store, with state,
phase, operator and start time. --all adds finished runs; --lab lists those of the lab.
It contacts no device. weft rollout status RUN shows one run.`,
		RunE: c.out.does(func(ctx context.Context, _ []string) error { return c.listRuns(ctx, all) }),
	}
	cmd.Flags().BoolVar(&all, "all", false, "also list finished runs")
	return cmd
}

func (c *runsCommand) listRuns(ctx context.Context, all bool) error {
	list, err := c.store.records().Heads(ctx, c.opts.lab)
	if err != nil {
		return err
	}
	over := 0
	var shown []*run.Head
	for _, h := range list {
		if h.Over() && !all {
			over++
			continue
		}
		shown = append(shown, h)
	}
	if c.opts.json {
		for _, h := range shown {
			c.out.emit(plan.Event{Type: plan.EventPhase, Message: fmt.Sprintf("run %s is %s", h.ID, h.State), Data: map[string]any{"run": h}})
		}
		return nil
	}
	if len(shown) > 0 {
		w := tabwriter.NewWriter(c.out.stdout, 0, 0, 2, ' ', 0)
		fmt.Fprintln(w, "RUN\tSTATE\tWHAT\tPHASE\tBEGUN\tBY\tCOMMIT")
		for _, h := range shown {
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%.12s\n", h.ID, h.State, cmp.Or(h.Rollout, "plan"), phaseOf(h), h.Begun.Local().Format("2006-01-02 15:04"), cmp.Or(h.Who, h.By), h.Commit)
		}
		if err := w.Flush(); err != nil {
			return err
		}
	}
	switch {
	case len(list) == 0:
		fmt.Fprintf(c.out.stdout, "No run is kept in %s.\n", c.store.records().Where())
	case len(shown) == 0:
		fmt.Fprintf(c.out.stdout, "No run is on its way; %s over (--all).\n", text.Count(over, "is", "are"))
	case over > 0:
		fmt.Fprintf(c.out.stdout, "Beside these %s over (--all).\n", text.Count(over, "is", "are"))
	}
	return nil
}

// phaseOf is the phase that a run is in, and how many have passed.
func phaseOf(h *run.Head) string {
	passed, now := 0, ""
	for _, p := range h.Phases {
		switch {
		case p.State == rollout.Passed:
			passed++
		case now == "":
			now = p.Name + " "
		}
	}
	if len(h.Phases) == 0 {
		return ""
	}
	return strings.TrimSpace(fmt.Sprintf("%s%d/%d", now, passed, len(h.Phases)))
}
