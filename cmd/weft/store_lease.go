package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"weft/internal/hint"
	"weft/internal/store"
)

func (c *storeCommand) leaseList() *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "Show who has leases in the store", Args: exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, open, err := c.store.opener()
			if err != nil {
				return err
			}
			s, err := open(cmd.Context())
			if err != nil {
				return storeError(err)
			}
			defer s.Close()
			list, err := s.Leases(cmd.Context(), "")
			if err != nil {
				return storeError(err)
			}
			if c.opts.json {
				return c.out.encode(append([]store.Holding{}, list...))
			}
			for _, h := range list {
				fmt.Fprintf(c.out.stdout, "%s is held by %s, for %s more unless it is renewed\n", h.Key, h.Holder, h.Left.Round(time.Second))
			}
			if len(list) == 0 {
				fmt.Fprintln(c.out.stdout, "Nobody holds anything.")
			}
			return nil
		},
	}
}

func (c *storeCommand) leaseBreak() *cobra.Command {
	var sure bool
	cmd := &cobra.Command{
		Use: "break KEY", Short: "End a lease whose holder is gone", Args: exactly("KEY"),
		Long: `break ends a lease. One whose holder has died ends by itself within minutes: break it only
when that is too long, and when the holder is known to be gone. Whoever still works with
it is told at its next renewal, and devices refuse its token once another has been there.
If somebody else has the lease by now, nothing is done (exit 7).`,
		RunE: func(cmd *cobra.Command, args []string) error {
			_, open, err := c.store.opener()
			if err != nil {
				return err
			}
			s, err := open(cmd.Context())
			if err != nil {
				return storeError(err)
			}
			defer s.Close()
			return storeError(c.breakLease(cmd.Context(), s, args[0], sure))
		},
	}
	cmd.Flags().BoolVar(&sure, "auto-approve", false, "do not ask")
	return cmd
}

func (c *storeCommand) breakLease(ctx context.Context, s store.Store, key string, sure bool) error {
	list, err := s.Leases(ctx, "")
	if err != nil {
		return err
	}
	for _, h := range list {
		if h.Key != key {
			continue
		}
		question := fmt.Sprintf("End the lease of %s, which %s has for %s more?", h.Key, h.Holder, h.Left.Round(time.Second))
		if err := c.out.confirm(sure, question, "the lease stays", "be sure that its holder is gone, and pass --auto-approve"); err != nil {
			return err
		}
		if err := s.Break(ctx, h); err != nil {
			return err
		}
		if c.opts.json {
			return c.out.encode(h)
		}
		_, err := fmt.Fprintf(c.out.stdout, "%s is free: it was held by %s\n", h.Key, h.Holder)
		return err
	}
	return hint.Wrap(fmt.Errorf("nobody has a lease of %s", key), "weft store lease list shows all")
}
