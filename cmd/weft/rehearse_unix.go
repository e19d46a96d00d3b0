//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"weft/internal/hint"
	"weft/internal/run"
	"weft/internal/view"
	"weft/inventory"
	"weft/plan"
)

func (c *rehearseCommand) command() *cobra.Command {
	var real bool
	cmd := &cobra.Command{
		Use: "rehearse", Short: "Test the rollout on simulated copies of the devices", Args: exactly(),
		Long: `rehearse starts a simulated copy of every device in its factory state, and carries out the
rollout there. It applies the plan with each phase and gate, and makes a second plan,
which must be empty. It then reverts everything and checks that nothing of weft remains. It contacts
no real device.

The devices are SIMULATED. With --real, Linux servers are guests with real kernels, if
this machine supports them (Linux, root, QEMU, debootstrap). The guests use software RDMA
(Soft-RoCE or Soft-iWARP) in place of RDMA cards, and storage uses it. Switches and other
hosts stay SIMULATED.

Approvals are skipped, soaks are short and windows are open. Limits on time and
throughput are not judged: a rehearsal tests function, not speed. SIMULATED devices have
no RDMA and no external arrays. Storage then uses TCP, and connections to external
targets are left out, as the first line states. The end of the output lists the aspects
that a rehearsal cannot test.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c.opts.lab = true
			c.out.begin(cmd)
			m, err := c.project.load()
			if err != nil {
				return err
			}
			return c.onTwin(cmd.Context(), m, real)
		},
	}
	cmd.Flags().BoolVar(&real, "real", false, "servers are guests with real kernels")
	return cmd
}

// onTwin rehearses on a lab of its own, in a directory of its own, which stays
// where something went wrong.
func (c *rehearseCommand) onTwin(ctx context.Context, m *inventory.Model, real bool) (err error) {
	base := filepath.Join(c.opts.dir, ".weft")
	if err := os.MkdirAll(base, 0o700); err != nil {
		return fmt.Errorf("rehearse: %w", err)
	}
	dir, err := os.MkdirTemp(base, "rehearsal-")
	if err != nil {
		return fmt.Errorf("rehearse: %w", err)
	}
	for _, text := range shortOf(m, real).inTwin(m, c.opts.dir) {
		c.out.emit(plan.Event{Type: plan.EventNote, Level: "warn", Message: text})
	}
	c.note("starts the twin")
	log := io.Discard
	if real && !c.opts.json { // guests boot for minutes
		log = c.out.stderr
	}
	twin, err := c.fabric.startLab(ctx, c.fabric.labOrder(m, dir, real), log)
	if err != nil {
		return errors.Join(err, os.RemoveAll(dir))
	}
	defer func() {
		if stopped := twin.Stop(); err == nil {
			err = errors.Join(stopped, os.RemoveAll(dir))
			return
		}
		fmt.Fprintf(c.out.stderr, "  what happened is kept in %s\n", filepath.Join(dir, ".weft", "store"))
	}()
	c.opts.twin, c.planner.rehearsal = dir, &rehearsal{real: real, spared: map[string]bool{}, lacks: map[string]bool{}}
	if err := c.perform(ctx); err != nil {
		return err
	}
	if !c.opts.json {
		applied := "everything was applied"
		if len(m.Rollouts) > 0 {
			applied = "every phase was applied, and no gate stopped it"
		}
		view.Rehearsed(c.out.stdout, c.out.style(c.out.stdout), twin.State.Describe(), applied, c.planner.rehearsal.unjudged(), c.planner.rehearsal.missing(), real)
	}
	if lacks := c.planner.rehearsal.missing(); len(lacks) > 0 {
		return &toldError{exitPartial, "partial: not measured: " + strings.Join(lacks, ", ")}
	}
	return nil
}

// perform does everything there is to a rollout: there, again, and back.
func (c *rehearseCommand) perform(ctx context.Context) error {
	if err := c.scene(ctx, planFlags{}, "does what the files say"); err != nil {
		return err
	}
	if err := c.nothing(ctx, planFlags{}, "plans again",
		"the second plan is not empty: the applied state differs from the files"); err != nil {
		return err
	}
	if err := c.scene(ctx, planFlags{destroy: true}, "takes everything back"); err != nil {
		return err
	}
	return c.nothing(ctx, planFlags{destroy: true}, "looks whether anything is left",
		"something of weft is left after everything was removed")
}

// nothing plans, and fails with what is wrong where there is anything to do.
func (c *rehearseCommand) nothing(ctx context.Context, f planFlags, note, wrong string) error {
	c.note(note)
	p, made, err := c.planner.plan(ctx, f)
	if err != nil {
		return err
	}
	if len(made.Steps) > 0 {
		err = errors.Join(c.planner.planned(ctx, made, f), hint.Wrap(&codeError{exitFailed, errors.New(wrong)},
			"no real device was touched; the steps above say what differs"))
	}
	return errors.Join(err, p.Close())
}

// scene plans and applies.
func (c *rehearseCommand) scene(ctx context.Context, f planFlags, note string) error {
	c.note(note)
	c.fabric.settle = true
	p, made, err := c.planner.plan(ctx, f)
	if err != nil {
		return err
	}
	defer p.Close()
	f.show.Concise = true
	if err := c.planner.planned(ctx, made, f); err != nil {
		return err
	}
	return c.executor.carryOut(ctx, p, made, run.Order{})
}

func (c *rehearseCommand) note(text string) {
	c.out.emit(plan.Event{Type: plan.EventNote, Message: "the rehearsal " + text})
}
