package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"weft/internal/text"
	"weft/internal/wait"
	"weft/inventory"
	"weft/plan"
	"weft/plan/rollout"
)

// emptyPatience is how long the machines of a host may take to leave it.
const emptyPatience = 35 * time.Minute

// restart empties a host of a phase, restarts it, fills it again, and waits until everything
// that the run has not left for later is as declared once more, on all devices.
func (s *staged) restart(ctx context.Context, how rollout.Restart) (begun bool, err error) {
	if !s.site.Rolling(how.Device) {
		return false, s.site.noRolling(how.Device)
	}
	if err := s.mayRevert(ctx, []string{how.Phase}); err != nil {
		return how.Begun, err
	}
	back := s.restartTimeout(how.Phase)
	ctx, end := patient(ctx, emptyPatience+back)
	defer end()
	from := time.Now()
	r := &Restarts{Site: s.site, Says: s.says}
	if err := s.opened(ctx); err != nil {
		return how.Begun, err
	}
	err = r.Roll(ctx, how.Device, how.Begun, how.Anew, back)
	if stage := new(RestartError); errors.As(err, &stage) {
		return how.Begun || stage.Stage == Gone || stage.Stage == Started, err
	}
	wait, cancel := patient(ctx, back)
	defer cancel()
	if err := s.comesBack(wait, how); err != nil {
		return true, err
	}
	s.says(how.Device, fmt.Sprintf("%s is back, with all that had been there, after %s", how.Device, time.Since(from).Round(time.Second)))
	return true, nil
}

func (s *staged) says(device, text string) {
	s.env.emit(plan.Event{Time: time.Now(), Type: plan.EventHeartbeat, Device: device, Message: text})
}

// opened opens the vCenters, of which one may have to empty the host. One that does not answer
// must not have the host emptied by itself.
func (s *staged) opened(ctx context.Context) error {
	for _, v := range s.site.Model.VCenters {
		if d := s.site.Input.Devices[v.Addr]; d != nil {
			if _, err := d.Open(ctx); err != nil {
				return fmt.Errorf("%s, which may have its machines leave, does not answer: %w", v.Addr, err)
			}
		}
	}
	return nil
}

// noRolling says why a server is not restarted in a rollout.
func (s *Site) noRolling(server string) error {
	for _, x := range s.Model.Servers {
		if x.Addr == server {
			return fmt.Errorf("a rollout restarts hosts that it can empty before, which no server with os = %q is", x.OS)
		}
	}
	return errors.New("a rollout restarts servers only")
}

// restartTimeout is how long a server of a phase may take to come back.
func (s *staged) restartTimeout(phase string) time.Duration {
	for _, p := range s.site.Model.Rollouts[0].Phases {
		if p.Name == phase && p.RestartTimeout > 0 {
			return p.RestartTimeout
		}
	}
	return defaultRestartTimeout
}

const defaultRestartTimeout = 30 * time.Minute // as the language has it

// comesBack plans again until nothing is left to do but what the run has not done yet.
func (s *staged) comesBack(ctx context.Context, how rollout.Restart) error {
	said := ""
	for {
		missing, err := s.missing(ctx, how)
		if err == nil && len(missing) == 0 {
			return nil
		}
		if list := text.List(missing, mostNamed); err == nil && list != said && ctx.Err() == nil {
			said = list
			s.says(how.Device, "not back yet: "+list)
		}
		if !wait.For(ctx, restartPause) {
			return fmt.Errorf("%s has started, and not everything came back (%w): %w", how.Device, context.Cause(ctx), cmp.Or(err, errors.New(said)))
		}
	}
}

// missing names what is not as declared, or does not answer, and is not left for later: what
// the plan would do that the run has not done, or has reverted.
func (s *staged) missing(ctx context.Context, how rollout.Restart) (names []string, err error) {
	q := s.site.Afresh()
	defer q.Close()
	q.Input.Select = s.plan.Select
	made, err := q.Plan(ctx, q.Input, false)
	if err != nil {
		return nil, err
	}
	later := map[plan.ID]bool{}
	done := s.run.Done()
	for _, x := range s.plan.Steps {
		later[x.ID] = how.Anew || !done[x.ID]
	}
	lacks := func(id plan.ID) {
		if !later[id] && id.Kind != plan.LedgerKind {
			names = append(names, id.String())
		}
	}
	for _, x := range made.Steps {
		lacks(x.ID)
	}
	for _, x := range made.Refusals {
		lacks(x.ID)
	}
	for _, d := range made.Unreachable() {
		if !slices.ContainsFunc(s.plan.Unreachable(), func(x plan.PlannedDevice) bool { return x.Address == d.Address }) {
			names = append(names, d.Address+" does not answer")
		}
	}
	return names, nil
}

// mostNamed is the number of names in one message.
const mostNamed = 5

// emptier is who will empty a host, as far as that is known: not all vCenters may be open.
func (s *Site) emptier(server string) string {
	if _, block, _ := s.emptiedBy(server); block != "" || len(s.Model.VCenters) > 0 {
		return block
	}
	return "itself"
}

// restarts says which devices need a restart for the steps of a plan, and who does it; it
// refuses phases that could not.
func (s *Site) restarts(made *plan.Plan) {
	rolling := map[string]*inventory.Phase{}
	if len(s.Model.Rollouts) > 0 && !made.Destroy {
		for _, p := range s.Model.Rollouts[0].Phases {
			if p.Restart != "" {
				rolling[p.Name] = p
			}
		}
	}
	made.Restarts = nil
	for _, x := range made.Steps {
		r := plan.Restart{Device: x.ID.Device, Phase: x.Phase}
		if !x.NeedsRestart() || slices.ContainsFunc(made.Restarts, func(o plan.Restart) bool { return o.Device == r.Device && o.Phase == r.Phase }) {
			continue
		}
		if p := rolling[x.Phase]; p != nil && s.Rolling(r.Device) {
			r.Rolling = true
			r.Through = s.emptier(r.Device)
		} else if p != nil {
			made.Refusals = append(made.Refusals, plan.Refusal{ID: x.ID, Range: p.At("restart"), Text: s.noRolling(r.Device).Error(),
				Hint: fmt.Sprintf("take restart out of phase %q, and restart it by hand", p.Name)})
		}
		made.Restarts = append(made.Restarts, r)
	}
}
