package rollout

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"weft/internal/hint"
	"weft/plan"
)

// A Restart is one of a device, for what a phase has carried out there.
type Restart struct {
	Phase, Device string
	Begun         bool // it may have been before, and is gone on with
	Anew          bool // if so it starts once more, whether or not it has already
}

// asks notes what was carried out just now: devices that were restarted before have to be
// restarted for it once more.
func (p *PhaseRun) asks(steps []plan.PlannedStep) {
	for _, s := range steps {
		if s.NeedsRestart() {
			p.Restarted = slices.DeleteFunc(p.Restarted, func(d string) bool { return d == s.ID.Device })
		}
	}
}

// due are the devices that are still to be restarted for what a phase has carried out.
func (p *PhaseRun) due() (devices []string) {
	for _, s := range p.Steps {
		if d := s.ID.Device; s.NeedsRestart() && !slices.Contains(p.Restarted, d) && !slices.Contains(devices, d) {
			devices = append(devices, d)
		}
	}
	return devices
}

// restart restarts what is due, one device after another, before it is proven. It ends at the
// first that is not well: nothing is rolled back then, whatever the rollout says of failures,
// as nobody knows what such a device is doing.
func (a *advance) restart(ctx context.Context, p *Phase, pr *PhaseRun) error {
	var devices []string
	if p.Restart {
		devices = pr.due()
	}
	if i := slices.Index(devices, pr.Restarting); i > 0 { // that was begun comes first
		devices[0], devices[i] = devices[i], devices[0]
	}
	for _, device := range devices {
		pr.State = Restarting
		how := Restart{Phase: p.Name, Device: device, Begun: pr.Restarting == device}
		if !how.Begun {
			if err := a.hold(p); err != nil {
				return err
			}
		}
		pr.Restarting = device
		if err := a.Save(a.run); err != nil { // before anything is touched
			return err
		}
		a.emit(p, plan.EventPhase, "restarts "+device)
		begun, err := a.Restart(ctx, how)
		if err != nil {
			return a.unrestarted(ctx, p, pr, begun, err)
		}
		pr.Restarted, pr.Restarting = append(pr.Restarted, device), ""
		if err := a.Save(a.run); err != nil {
			return err
		}
	}
	if pr.State != Restarting {
		return nil
	}
	pr.State = Gating
	return a.Save(a.run)
}

// unrestarted stops at a device that was not restarted, or is not well after it.
func (a *advance) unrestarted(ctx context.Context, p *Phase, pr *PhaseRun, begun bool, err error) error {
	device := pr.Restarting
	if !begun {
		pr.Restarting = ""
	}
	switch {
	case ctx.Err() != nil: // it is gone on with
		return errors.Join(err, a.Save(a.run))
	case errors.As(err, new(*plan.HeldError)):
		return errors.Join(a.later(err), a.Save(a.run))
	}
	s := &Stop{Phase: p.Name, State: Paused, Why: fmt.Sprintf("the changes on %s are not in effect: %v", device, err), Err: err}
	advice := "then: weft rollout resume; to revert what was applied: weft rollout rollback"
	if begun {
		s.State = Failed
		s.Why = fmt.Sprintf("the restart of %s has not come to its end: %v; nothing is rolled back", device, err)
		advice = "when it is well: weft rollout resume goes on with it; to revert what was applied, with another restart: weft rollout rollback"
	}
	a.run.State, a.run.Why = Paused, s.Error()
	if err := a.Save(a.run); err != nil {
		return err
	}
	return hint.Wrap(s, "%s", hint.Join(hint.Of(err), advice))
}

// restartBack restarts devices that run with what was reverted, so that they do not any more.
func (a *advance) restartBack(ctx context.Context, list []*PhaseRun) error {
	for _, pr := range list {
		for _, device := range pr.stale() {
			if a.Emit != nil {
				a.Emit(plan.Event{Time: a.Now(), Type: plan.EventPhase, Device: device, Message: fmt.Sprintf("phase %q restarts %s once more: it runs with what was reverted", pr.Name, device),
					Data: map[string]any{"phase": pr.Name, "run": a.run.ID}})
			}
			if _, err := a.Restart(ctx, Restart{Phase: pr.Name, Device: device, Begun: true, Anew: true}); err != nil {
				return fmt.Errorf("%s is as before, but has not restarted with that: %w", device, err)
			}
			pr.Restarted = slices.DeleteFunc(pr.Restarted, func(d string) bool { return d == device })
			if pr.Restarting == device {
				pr.Restarting = ""
			}
			if err := a.Save(a.run); err != nil {
				return err
			}
		}
	}
	return nil
}

// stale are the devices that have restarted with what the phase has carried out, or may have.
func (p *PhaseRun) stale() []string {
	list := slices.Clone(p.Restarted)
	if p.Restarting != "" && !slices.Contains(list, p.Restarting) {
		list = append([]string{p.Restarting}, list...)
	}
	return list
}
