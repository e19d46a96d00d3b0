package main

import (
	"context"

	"github.com/spf13/cobra"

	"weft/internal/page"
)

// A rolloutViewCommand is weft rollout view.
type rolloutViewCommand struct {
	opts  *options
	out   *printer
	store *runStore
	pages *pageServer
}

func (c *rolloutViewCommand) command() *cobra.Command {
	h := &showing{}
	cmd := &cobra.Command{
		Use: "view [RUN]", Short: "Show runs in a browser, live and read-only", Args: counted(cobra.MaximumNArgs(1)),
		Long: `view serves a page with the runs of this directory, or of --store: phases, gates with each
metric and its limit, soaks, links, devices and the journal. The page follows the runs
until weft is interrupted. It is read-only and contacts no device.

It listens on loopback unless --http is set, and other addresses need a certificate. weft
prints a token that admits one browser. After each use it prints the next one.`,
		RunE: c.out.does(func(ctx context.Context, args []string) error { return c.viewRuns(ctx, h, args) }),
	}
	h.flags(cmd.Flags(), "127.0.0.1:0", "address and port to listen at; port 0 takes a free one")
	return cmd
}

func (c *rolloutViewCommand) viewRuns(ctx context.Context, h *showing, args []string) error {
	viewer, path := c.store.records().Viewer(), "/"
	if _, err := viewer.Heads(ctx); err != nil {
		return err
	}
	if len(args) > 0 {
		rec, err := c.store.records().Named(ctx, args[0], c.opts.lab)
		if other, _ := c.store.records().Named(ctx, args[0], !c.opts.lab); err != nil && other != nil {
			rec, err = other, nil // the page shows both
		}
		if err != nil {
			return err
		}
		path = "/run/store/" + rec.ID
	}
	if err := h.listen("", ""); err != nil {
		return err
	}
	return c.pages.serve(ctx, h, path, page.Site{Title: viewer.Where(), Read: shownFiles, Sources: func(context.Context) ([]page.Source, error) {
		return []page.Source{{Name: "store", Runs: viewer}}, nil
	}})
}
