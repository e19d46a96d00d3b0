package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"weft/internal/hint"
	"weft/internal/remote"
	"weft/internal/run"
	"weft/plan"
)

// An unlockCommand is weft unlock.
type unlockCommand struct {
	opts    *options
	out     *printer
	project *project
	store   *runStore
	fabric  *fabric
}

func (c *unlockCommand) command() *cobra.Command {
	var force bool
	cmd := &cobra.Command{
		Use: "unlock [DEVICE...]", Short: "Show or release locks on devices",
		Long: `unlock shows run locks and leases on devices. An apply holds a lease on each device that
it changes. The lease of a dead weft expires. On servers this takes five minutes, on a
vCenter half an hour, and on switches half an hour or three times their commit_confirm. A run lock does not expire, because a run may wait for days.

--force ends the leases and removes the run locks of the named devices. Make sure that
the holder is gone and that no other weft will continue the run. A weft with the record
of the run is informed that the run was ended.

A server stores the fencing token of the last run with a store, and refuses runs with a
lower token or without one. --force removes the token as well. The next run then sets a
new token, independent of its store.`,
		RunE: c.out.does(func(ctx context.Context, args []string) error {
			if force && len(args) == 0 {
				return usage(errors.New("--force: name the devices, such as server.node[\"st1\"]"))
			}
			return c.unlock(ctx, args, force)
		}),
	}
	cmd.Flags().BoolVar(&force, "force", false, "end the leases and run locks of the named devices")
	c.project.completeArgs(cmd)
	return cmd
}

func (c *unlockCommand) unlock(ctx context.Context, names []string, force bool) error {
	m, err := c.project.load()
	if err != nil {
		return err
	}
	p, err := c.fabric.open(m)
	if err != nil {
		return err
	}
	defer p.Close()
	if len(names) == 0 {
		names = slices.Collect(maps.Keys(p.Fleet.Devices))
	}
	for _, name := range names {
		if p.Fleet.Devices[name] == nil {
			return usage(hint.Wrap(fmt.Errorf("%s is no device of these files", name), "weft plan prints their names"))
		}
	}
	names = slices.Compact(slices.Sorted(slices.Values(names)))
	held, failed := make([]holding, len(names)), make([]error, len(names))
	look := func(ctx context.Context, i int, name string) {
		h, err := c.unlockOne(ctx, p, name, force)
		if held[i] = h; err != nil {
			failed[i] = fmt.Errorf("%s: %w", name, err)
		}
	}
	asking := ctx
	if !force {
		asking = remote.Reading(ctx)
	}
	p.Each(asking, names, "asking who holds it", look)
	for i, name := range names {
		if failed[i] != nil {
			continue
		}
		if err := c.showHolding(name, held[i]); err != nil {
			return err
		}
	}
	if ctx.Err() != nil {
		return fmt.Errorf("interrupted while asking who holds devices: %w", context.Cause(ctx))
	}
	if err := errors.Join(failed...); err != nil {
		return &codeError{exitUnreachable, err}
	}
	return nil
}

// unfence says which token stands on a device, and takes it away if told so.
func (c *unlockCommand) unfence(ctx context.Context, p *run.Site, name string, force bool) (string, error) {
	fenced := p.Fleet.Device(name)
	if !fenced.Capabilities().Fence {
		return "", nil // a switch, where leases are advice
	}
	token, err := fenced.Token(ctx)
	if err != nil || token == "" || !force {
		return token, err
	}
	return token, fenced.Yield(ctx)
}

// A holding is who holds a device, or held it.
type holding struct {
	text  string
	lease *plan.Lease
	marks []plan.Mark
	token string
}

func (c *unlockCommand) unlockOne(ctx context.Context, p *run.Site, name string, force bool) (h holding, err error) {
	device := p.Fleet.Device(name)
	l, err := device.Lease(ctx)
	if err != nil {
		return h, err
	}
	text := "is not held"
	if l != nil {
		text = fmt.Sprintf("is held by %s; the lease ends in %s unless it is renewed", l.Holder, max(l.Left, 0).Round(time.Second))
		if l.Left <= 0 {
			text = fmt.Sprintf("was held by %s; the lease has ended", l.Holder)
		}
	}
	if l != nil && force {
		if err := l.Break(ctx); err != nil {
			return h, err
		}
		text = fmt.Sprintf("is free: it was held by %s", l.Holder)
	}
	var marks []plan.Mark
	if device.Capabilities().Marks { // a vCenter carries none
		if marks, err = device.ReadMarks(ctx); err != nil {
			return h, err
		}
	}
	for _, m := range marks {
		if !force {
			text += "; it belongs to " + m.Text()
			continue
		}
		if err := device.BreakMark(ctx, m); err != nil {
			return h, err
		}
		text += "; it belonged to " + m.Text() + ", which cannot continue now: a weft with its record reports this (exit 7); close the run with weft rollout abort"
		if err := c.store.records().Unlocked(ctx, m.Run, name, who()); err != nil { // the device is free all the same
			c.out.emit(plan.Event{Type: plan.EventDiagnostic, Level: "warn", Device: name, Message: fmt.Sprintf("the audit trail of run %s lacks that %s was unlocked: %v", m.Run, name, err)})
		}
	}
	token, err := c.unfence(ctx, p, name, force)
	if err != nil {
		return h, err
	}
	if token != "" {
		text += map[bool]string{true: "; the token ", false: "; it is for runs of a store, the last with the token "}[force] + token
		if force {
			text += " is taken away"
		}
	}
	return holding{text, l, marks, token}, nil
}

// showHolding prints who holds a device.
func (c *unlockCommand) showHolding(name string, h holding) error {
	if c.opts.json {
		c.out.emit(plan.Event{Type: plan.EventLease, Device: name, Message: name + " " + h.text, Data: map[string]any{"lease": h.lease, "runs": h.marks, "token": h.token}})
		return nil
	}
	_, err := fmt.Fprintln(c.out.stdout, name, h.text)
	return err
}
