package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"weft/internal/hint"
	"weft/internal/run"
	"weft/internal/selector"
	"weft/internal/slice"
	"weft/internal/text"
	"weft/internal/wait"
	"weft/inventory"
	"weft/plan"
)

// A restarting is how verify reboot goes.
type restarting struct {
	approve bool
	timeout time.Duration // of everything that comes after the restart
}

// A rebootCommand is weft verify reboot.
type rebootCommand struct {
	opts    *options
	out     *printer
	project *project
	store   *runStore
	fabric  *fabric
	planner *planner
}

func (c *rebootCommand) command() *cobra.Command {
	var how restarting
	cmd := &cobra.Command{
		Use: "reboot SERVER...", Short: "Restart servers, and prove that everything comes back by itself",
		Long: `reboot restarts the named servers, all at the same time, after it has asked; ESXi
hosts after them and one after another, each emptied before by maintenance mode:
through the vCenter of the files that has it, else by itself. It
waits until each has started again, with all that starts at boot, and then plans
until nothing is left to do: every setting, target and connection of the whole
fabric has come back by itself. What is not as declared before the restart would
prove nothing, and is refused.

` + selector.Help,
		RunE: func(cmd *cobra.Command, names []string) error {
			if len(names) == 0 {
				return usage(errors.New("name the servers to restart: weft verify reboot SERVER"))
			}
			c.out.begin(cmd)
			return c.reboot(cmd.Context(), names, how)
		},
	}
	autoApprove(cmd, &how.approve)
	cmd.Flags().DurationVar(&how.timeout, "timeout", 20*time.Minute, "how long the servers, and what they carry, may take to come back")
	c.project.completeArgs(cmd)
	return cmd
}

func (c *rebootCommand) reboot(ctx context.Context, names []string, how restarting) error {
	p, made, err := c.planner.plan(ctx, planFlags{})
	if err != nil {
		return err
	}
	defer p.Close()
	servers, err := choose(p, names)
	if err != nil {
		return err
	}
	for _, name := range servers {
		for _, m := range run.MarksOf(p.Input.Devices[name]) {
			if !c.store.records().Mine(m) {
				return &codeError{exitHeld, plan.NewMarkedError(name, m)}
			}
		}
	}
	for _, sw := range p.Model.Switches {
		if slices.Contains(servers, sw.Addr) {
			return usage(fmt.Errorf("%s is no server: switches are not restarted", sw.Addr))
		}
	}
	if !converged(made) {
		if err := c.planner.planned(ctx, made, planFlags{detailed: true}); exitCode(ctx, err) != exitChanges {
			return err
		}
		return hint.Wrap(errors.New("not restarted: not everything is as declared, so that nothing would be proven"), "carry the plan out first: weft apply")
	}
	together, rolling := divided(p, servers)
	question := "Restart " + strings.Join(servers, ", ") + "? Whatever runs there ends."
	if len(together) == 0 {
		question = "Restart " + strings.Join(servers, ", ") + ", one after another? Whatever runs there leaves before."
	}
	if err := c.out.confirm(how.approve, question, "not restarted", "pass --auto-approve"); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, how.timeout)
	defer cancel()
	if err := c.restartAll(ctx, p, together); err != nil {
		return err
	}
	for _, host := range rolling {
		begun := time.Now()
		if err := c.restarts(p).Roll(ctx, host, false, false, how.timeout); err != nil {
			return unrestarted(err)
		}
		if err := c.comesBack(ctx, c.again(p.Model), []string{host}, begun); err != nil {
			return err
		}
	}
	return nil
}

func (c *rebootCommand) restarts(p *run.Site) *run.Restarts {
	return &run.Restarts{Site: p, Says: c.out.says}
}

// unrestarted gives a host that is not well its exit code.
func unrestarted(err error) error {
	code, stage := exitFailed, new(run.RestartError)
	if errors.As(err, &stage) && (stage.Stage == run.Unreached || stage.Stage == run.Gone) {
		code = exitUnreachable
	}
	if stage.By != "" {
		err = hint.Wrap(err, "%s; it is in maintenance mode: weft verify reboot takes it out of that when it is well, or let it leave it (through %s)", hint.Of(err), stage.By)
	}
	return &codeError{code, err}
}

// divided tells servers that are restarted at the same time from those that others' machines
// run on: they are restarted one after another.
func divided(p *run.Site, servers []string) (together, rolling []string) {
	for _, s := range servers {
		if p.Rolling(s) {
			rolling = append(rolling, s)
		} else {
			together = append(together, s)
		}
	}
	return together, rolling
}

// restartAll restarts servers at the same time, and waits until all is back.
func (c *rebootCommand) restartAll(ctx context.Context, p *run.Site, servers []string) error {
	if len(servers) == 0 {
		return nil
	}
	begun := time.Now()
	errs := make([]error, len(servers))
	p.Each(ctx, servers, "restarting", func(ctx context.Context, i int, server string) {
		if errs[i] = c.restarts(p).Boot(ctx, server); errs[i] == nil {
			c.out.says(server, fmt.Sprintf("%s has started again after %s", server, time.Since(begun).Round(time.Second)))
		}
	})
	if err := errors.Join(errs...); err != nil {
		return &codeError{exitUnreachable, err}
	}
	return c.comesBack(ctx, c.again(p.Model), servers, begun)
}

// again plans over connections of its own, as often as it is called.
func (c *rebootCommand) again(m *inventory.Model) func(context.Context) (*plan.Plan, error) {
	return func(ctx context.Context) (*plan.Plan, error) { return c.planAfresh(ctx, m) }
}

// converged reports whether everything was seen and is as declared. What a weft that was
// killed has left, a lease or half an upload, is nothing that was declared.
func converged(made *plan.Plan) bool {
	declared := func(s plan.PlannedStep) bool {
		return s.ID.Kind != plan.LedgerKind || slices.ContainsFunc(s.Changes, func(c plan.Change) bool { return c.Path != "lease" && c.Path != "uploads" })
	}
	return !slices.ContainsFunc(made.Steps, declared) && len(made.Refusals)+len(made.Unreachable()) == 0
}

const rebootPause = 2 * time.Second // between plans of a server that has started

// comesBack plans again until nothing is left to do, and says what is waited for.
func (c *rebootCommand) comesBack(ctx context.Context, again func(context.Context) (*plan.Plan, error), servers []string, begun time.Time) error {
	var last *plan.Plan
	var waits string
	for {
		made, err := again(ctx)
		if err == nil && converged(made) {
			return c.isBack(made, strings.Join(servers, ", "), time.Since(begun))
		}
		if err == nil && (ctx.Err() == nil || last == nil) { // one that was cut short knows less than the one before
			last = made
			if text := missing(made); text != waits {
				waits = text
				c.out.says("", "not back yet: "+text)
			}
		}
		if wait.For(ctx, rebootPause) {
			continue
		}
		if last == nil {
			return fmt.Errorf("waiting until everything is back: %w", errors.Join(context.Cause(ctx), err))
		}
		if err := c.planner.planned(ctx, last, planFlags{}); err != nil {
			return err
		}
		return &codeError{exitFailed, errors.New("not everything came back by itself")}
	}
}

// missing names what a plan would still change, and what it could not read.
func missing(made *plan.Plan) string {
	names := slice.Map(made.Steps, func(s plan.PlannedStep) string { return s.ID.String() })
	for _, r := range made.Refusals {
		names = append(names, r.ID.String())
	}
	for _, d := range made.Unreachable() {
		names = append(names, d.Address)
	}
	return text.List(names, 5)
}

// planAfresh plans over connections of its own.
func (c *rebootCommand) planAfresh(ctx context.Context, m *inventory.Model) (*plan.Plan, error) {
	p, err := c.fabric.open(m)
	if err != nil {
		return nil, err
	}
	defer p.Close()
	return plan.Make(ctx, p.Input)
}

func (c *rebootCommand) isBack(made *plan.Plan, servers string, took time.Duration) error {
	resources := 0
	for _, d := range made.Devices {
		resources += d.Items
	}
	text := fmt.Sprintf("%s started again, and after %s everything is as declared, by itself: %d settings, targets and connections.",
		servers, took.Round(time.Second), resources)
	for _, l := range made.Left {
		if l.Degraded {
			text += fmt.Sprintf("\n  ! %s is %s", l.ID, l.Text)
		}
	}
	if c.opts.json {
		c.out.emit(plan.Event{Type: plan.EventNote, Message: text})
		return nil
	}
	_, err := fmt.Fprintln(c.out.stdout, text)
	return err
}
