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
	"weft/internal/remote"
	"weft/internal/run"
	"weft/inventory"
	"weft/modules"
	"weft/plan"
)

// A restarting is how verify reboot goes.
type restarting struct {
	approve bool
	timeout time.Duration // of everything that comes after the restart
}

func (a *app) rebootCmd() *cobra.Command {
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

` + selectorHelp + `

It exits 0 when everything is back, 3 when something is not, with the plan that
would bring it back, and 8 when a server does not start again.`,
		RunE: func(cmd *cobra.Command, names []string) error {
			if len(names) == 0 {
				return usage(errors.New("name the servers to restart: weft verify reboot SERVER"))
			}
			a.begin(cmd)
			return a.reboot(cmd.Context(), names, how)
		},
	}
	cmd.Flags().BoolVar(&how.approve, "auto-approve", false, "do not ask")
	cmd.Flags().DurationVar(&how.timeout, "timeout", 20*time.Minute, "how long the servers, and what they carry, may take to come back")
	return cmd
}

func (a *app) reboot(ctx context.Context, names []string, how restarting) error {
	p, made, err := a.plan(ctx, planFlags{})
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
			if !a.runs().Mine(m) {
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
		if err := a.planned(made, planFlags{detailed: true}); exitCode(ctx, err) != exitChanges {
			return err
		}
		return hint.Wrap(errors.New("not restarted: not everything is as declared, so that nothing would be proven"), "carry the plan out first: weft apply")
	}
	together, rolling := divided(p, servers)
	question := "Restart " + strings.Join(servers, ", ") + "? Whatever runs there ends."
	if len(together) == 0 {
		question = "Restart " + strings.Join(servers, ", ") + ", one after another? Whatever runs there leaves before."
	}
	if err := a.confirm(how.approve, question, "not restarted", "pass --auto-approve"); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, how.timeout)
	defer cancel()
	if err := a.restartAll(ctx, p, together); err != nil {
		return err
	}
	for _, host := range rolling {
		if err := a.roll(ctx, p, host); err != nil {
			return err
		}
	}
	return nil
}

// restartAll restarts servers at the same time, and waits until all is back.
func (a *app) restartAll(ctx context.Context, p *run.Site, servers []string) error {
	if len(servers) == 0 {
		return nil
	}
	begun := time.Now()
	errs := make([]error, len(servers))
	p.Each(ctx, servers, "restarting", func(ctx context.Context, i int, server string) {
		if errs[i] = a.restart(ctx, p, server); errs[i] == nil {
			a.notes(server, fmt.Sprintf("has started again after %s", time.Since(begun).Round(time.Second)))
		}
	})
	if err := errors.Join(errs...); err != nil {
		return &codeError{exitUnreachable, err}
	}
	return a.comesBack(ctx, a.again(p.Model), servers, begun)
}

// again plans over connections of its own, as often as it is called.
func (a *app) again(m *inventory.Model) func(context.Context) (*plan.Plan, error) {
	return func(ctx context.Context) (*plan.Plan, error) { return a.planAfresh(ctx, m) }
}

// converged reports whether everything was seen and is as declared.
func converged(made *plan.Plan) bool {
	return len(made.Steps)+len(made.Refusals)+len(made.Unreachable()) == 0
}

const (
	rebootPause = 2 * time.Second // between looks at a server that starts, and plans of one that has
	rebootLook  = time.Minute     // of one look: a connection to what goes down may never end
)

// restart restarts one server and waits until it has started again, with
// everything that starts at boot.
func (a *app) restart(ctx context.Context, p *run.Site, server string) error {
	dev, err := plan.As[modules.Commander](p.Fleet.Devices, server, "takes no commands")
	if err != nil {
		return err
	}
	before, err := p.Fleet.Devices[server].Open(ctx)
	if err != nil {
		return fmt.Errorf("%s: %w", server, err)
	}
	a.notes(server, "is restarted: systemctl reboot")
	asked, cancel := context.WithTimeout(ctx, rebootLook)
	defer cancel()
	_, err = dev.RunCommand(asked, remote.Cmd{Args: []string{"systemctl", "reboot"}}, true)
	if errors.As(err, new(*remote.ExitError)) || errors.As(err, new(*plan.HeldError)) {
		return fmt.Errorf("%s is not restarted: %w", server, err)
	}
	for { // the connection may have ended before the answer came
		last := a.startedAgain(ctx, p.Model, server, before)
		if last == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return hint.Wrap(fmt.Errorf("%s does not start again: %w", server, errors.Join(context.Cause(ctx), last)), "look at its console")
		case <-time.After(rebootPause):
		}
	}
}

// startedAgain looks once whether a server has started since, and then waits
// until systemd has carried out what starts at boot.
func (a *app) startedAgain(ctx context.Context, m *inventory.Model, server string, before plan.Identity) error {
	q, err := a.reach(m) // nothing is left of the connections of before
	if err != nil {
		return err
	}
	defer q.Close()
	look, cancel := context.WithTimeout(ctx, rebootLook)
	defer cancel()
	dev, err := plan.As[modules.Commander](q.Fleet.Devices, server, "takes no commands")
	if err != nil {
		return err
	}
	now, err := q.Fleet.Devices[server].Open(look)
	switch {
	case err != nil:
		return err
	case now.BootID == before.BootID:
		return errors.New("it has not gone down yet")
	case now.MachineID != before.MachineID:
		return fmt.Errorf("another machine answers in its place: %s instead of %s", now.MachineID, before.MachineID)
	}
	out, err := dev.RunCommand(ctx, remote.Cmd{Args: []string{"systemctl", "is-system-running", "--wait"}, Quiet: true}, false)
	if errors.As(err, new(*remote.ExitError)) {
		a.notes(server, "has started, and systemd says: "+strings.TrimSpace(string(out.Stdout))+"; see systemctl --failed there")
		return nil
	}
	return err
}

// notes says what becomes of a server.
func (a *app) notes(server, text string) { a.says(server, server+" "+text) }

// comesBack plans again until nothing is left to do, and says what is waited for.
func (a *app) comesBack(ctx context.Context, again func(context.Context) (*plan.Plan, error), servers []string, begun time.Time) error {
	var last *plan.Plan
	var waits string
	for {
		made, err := again(ctx)
		if err == nil && converged(made) {
			return a.isBack(made, strings.Join(servers, ", "), time.Since(begun))
		}
		if err == nil && (ctx.Err() == nil || last == nil) { // one that was cut short knows less than the one before
			last = made
			if text := missing(made); text != waits {
				waits = text
				a.says("", "not back yet: "+text)
			}
		}
		select {
		case <-time.After(rebootPause):
			continue
		case <-ctx.Done():
		}
		if last == nil {
			return fmt.Errorf("waiting until everything is back: %w", errors.Join(context.Cause(ctx), err))
		}
		if err := a.planned(last, planFlags{}); err != nil {
			return err
		}
		return &codeError{exitFailed, errors.New("not everything came back by itself")}
	}
}

// missing names what a plan would still change, and what it could not read.
func missing(made *plan.Plan) string {
	var names []string
	for _, s := range made.Steps {
		names = append(names, s.ID.String())
	}
	for _, r := range made.Refusals {
		names = append(names, r.ID.String())
	}
	for _, d := range made.Unreachable() {
		names = append(names, d.Address)
	}
	const shown = 5
	if more := len(names) - shown; more > 0 {
		names = append(names[:shown], fmt.Sprintf("%d more", more))
	}
	return strings.Join(names, ", ")
}

// planAfresh plans over connections of its own.
func (a *app) planAfresh(ctx context.Context, m *inventory.Model) (*plan.Plan, error) {
	p, err := a.open(m)
	if err != nil {
		return nil, err
	}
	defer p.Close()
	return plan.Make(ctx, p.Input)
}

func (a *app) isBack(made *plan.Plan, servers string, took time.Duration) error {
	resources := 0
	for _, d := range made.Devices {
		resources += d.Items
	}
	text := fmt.Sprintf("%s started again, and after %s everything is as declared, by itself: %d settings, targets and connections.",
		servers, took.Round(time.Second), resources)
	for _, l := range made.Left {
		if strings.HasPrefix(l.Text, "DEGRADED") {
			text += fmt.Sprintf("\n  ! %s is %s", l.ID, l.Text)
		}
	}
	if a.json {
		a.emit(plan.Event{Type: plan.EventNote, Message: text})
		return nil
	}
	_, err := fmt.Fprintln(a.stdout, text)
	return err
}
