package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"weft/internal/hint"
	"weft/internal/store"
)

func (c *storeCommand) leaseList() *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List leases in the store", Args: exactly(),
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
			return c.listLeases(cmd.Context(), s)
		},
	}
}

// listLeases lists the leases. Documents that are none are an error beside them.
func (c *storeCommand) listLeases(ctx context.Context, s store.Store) error {
	list, bad := s.Leases(ctx, "")
	if bad != nil && !errors.As(bad, new(*store.CorruptError)) {
		return storeError(bad)
	}
	bad = hint.Wrap(bad, "weft store lease break KEY removes it")
	if c.opts.json {
		return errors.Join(c.out.encode(append([]store.Holding{}, list...)), bad)
	}
	for _, h := range list {
		fmt.Fprintf(c.out.stdout, "%s is held by %s, for %s more unless it is renewed\n", h.Key, h.Holder, h.Left.Round(time.Second))
	}
	if len(list) == 0 {
		fmt.Fprintln(c.out.stdout, "Nobody holds anything.")
	}
	return bad
}

func (c *storeCommand) leaseBreak() *cobra.Command {
	var sure bool
	cmd := &cobra.Command{
		Use: "break KEY", Short: "End a lease of a dead process", Args: exactly("KEY"),
		Long: `break ends a lease. The lease of a dead process expires within minutes. Use break only if
that is too long and the holder is gone. A holder that is still active is informed at
its next renewal. Devices refuse its fencing token after another run changed them. If
another process holds the lease by now, nothing is done (exit 7).`,
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
	autoApprove(cmd, &sure)
	return cmd
}

func (c *storeCommand) breakLease(ctx context.Context, s store.Store, key string, sure bool) error {
	list, bad := s.Leases(ctx, "")
	if bad != nil && !errors.As(bad, new(*store.CorruptError)) {
		return bad
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
	if bad != nil {
		return c.removeNoLease(ctx, s, key, sure)
	}
	return hint.Wrap(fmt.Errorf("no lease of %s exists", key), "weft store lease list shows all")
}

// removeNoLease removes a document that stands in the place of a lease and is none.
func (c *storeCommand) removeNoLease(ctx context.Context, s store.Store, key string, sure bool) error {
	if err := c.out.confirm(sure, fmt.Sprintf("Remove the document %s, which is no lease?", key), "it stays", "pass --auto-approve"); err != nil {
		return err
	}
	h := store.Holding{Key: key}
	if err := s.Break(ctx, h); errors.As(err, new(*store.LostError)) {
		return hint.Wrap(fmt.Errorf("no lease of %s exists", key), "weft store lease list shows all")
	} else if err != nil {
		return err
	}
	if c.opts.json {
		return c.out.encode(h)
	}
	_, err := fmt.Fprintf(c.out.stdout, "%s is free: it was no lease\n", key)
	return err
}
