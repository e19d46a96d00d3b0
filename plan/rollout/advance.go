package rollout

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"weft/internal/hint"
	"weft/internal/slice"
	"weft/plan"
)

// An Engine does what a rollout decides.
type Engine struct {
	// Apply carries steps out. Its error holds an *Alarm where something that was
	// seen meanwhile speaks against going on: then what was begun is finished, and
	// nothing more was.
	Apply   func(ctx context.Context, part *plan.Plan, unavailable int) (*plan.Result, error)
	Reverse func(context.Context, []plan.PlannedStep) (*plan.Result, error)
	Judge   func(ctx context.Context, validations []string) (Verdict, string, error)

	// Restart empties a device, restarts it, and waits until all is there again that had been.
	// begun: where there is an error it is not known whether the device is well.
	Restart func(context.Context, Restart) (begun bool, err error)

	Keep     func(ctx context.Context, devices []string) error    // their changes stay over a restart; may be asked again
	Save     func(*Run) error                                     // synced when it returns
	Approved func(context.Context, *Phase) (by string, err error) // judges who has signed that a phase may begin; nil: whoever promotes approves it
	Held     func() bool                                          // an operator asked for a pause; Judge and Sleep may then end with an error
	Emit     plan.Emit
	Now      func() time.Time
	Sleep    func(context.Context, time.Duration) error
}

// An Alarm is what was seen while steps were carried out.
type Alarm struct {
	Verdict Verdict // Fail, Inconclusive or Partial
	Why     string
}

func (a *Alarm) Error() string { return a.Why }

// A Stop is why a rollout does not go on by itself.
type Stop struct {
	State   State   // of the run
	Verdict Verdict // of the gate that stopped it, if one did
	Phase   string
	Why     string
	Err     error // of what failed, if something did
}

func (s *Stop) Error() string {
	if s.Phase == "" {
		return s.Why
	}
	return fmt.Sprintf("phase %q: %s", s.Phase, s.Why)
}

func (s *Stop) Unwrap() error { return s.Err }

// Advance goes on until the rollout is done or must stop, or, with one, until
// one gate is passed. Its error is a *Stop, or says what kept it from being
// carried out at all.
//
// The plan is the one that was approved, with its phases: a run that goes on
// does what is left of it.
func Advance(ctx context.Context, e Engine, s *Spec, p *plan.Plan, r *Run, one bool) error {
	a := &advance{Engine: e, spec: s, plan: p, run: r, one: one}
	if r.State == Paused {
		return &Stop{State: Paused, Why: "the rollout is paused: " + r.Why}
	}
	if half := slices.DeleteFunc(phases(r), func(p *PhaseRun) bool { return p.State != Reversing }); len(half) > 0 {
		stop := &Stop{Why: r.Why}
		if len(half) == 1 {
			stop.Phase = half[0].Name
		}
		return a.rollBack(ctx, half, stop)
	}
	r.State, r.Why = Running, ""
	for i := range s.Phases {
		gated, err := a.phase(ctx, &s.Phases[i], &r.Phases[i])
		if err != nil {
			return err
		}
		if r.Phases[i].State != Passed || gated && one && i+1 < len(s.Phases) {
			return a.Save(r)
		}
	}
	r.State = Passed
	return a.Save(r)
}

type advance struct {
	Engine
	spec *Spec
	run  *Run
	one  bool
	plan *plan.Plan
}

// phase brings a phase to its end. gated says that a gate was passed in it
// just now.
func (a *advance) phase(ctx context.Context, p *Phase, pr *PhaseRun) (gated bool, err error) {
	if pr.State == Passed {
		return false, nil
	}
	if pr.State == Restarting || pr.State == Gating || pr.State == Soaking { // what was applied is not proven yet
		if err := a.restart(ctx, p, pr); err != nil {
			return false, err
		}
		if err := a.prove(ctx, p, pr); err != nil {
			return false, err
		}
		if gated = true; a.one && len(a.left(p, pr)) > 0 {
			return true, a.Save(a.run)
		}
	}
	steps := a.left(p, pr)
	measures := len(p.Select) == 0 && !p.Remaining
	if len(steps) > 0 || measures {
		if err := a.mayBegin(ctx, p, pr); err != nil {
			return gated, err
		}
		a.emit(p, plan.EventPhase, strings.TrimSuffix(fmt.Sprintf("begins, with %d steps", len(steps)), map[bool]string{true: "s"}[len(steps) == 1]))
	}
	if err := a.record(ctx, p, pr); err != nil {
		return gated, err
	}
	all := batches(steps, p.Batch)
	if measures && !gated {
		all = [][]plan.PlannedStep{nil} // there is only a gate
	}
	for i, batch := range all {
		if err := a.window(p, pr); err != nil {
			return gated, err // gates and soaks may have taken longer than it is open
		}
		if err := a.batch(ctx, p, pr, batch); err != nil {
			return gated, err
		}
		if err := a.restart(ctx, p, pr); err != nil {
			return gated, err
		}
		if err := a.prove(ctx, p, pr); err != nil {
			return gated, err
		}
		if gated = gated || len(p.Gate) > 0 || p.Soak > 0; gated && a.one && i+1 < len(all) {
			return true, a.Save(a.run)
		}
	}
	if err := a.keep(ctx, pr.Steps); err != nil {
		return gated, a.stop(pr, Paused, &Stop{Phase: p.Name, Why: "it is proven, but a restart of a switch would undo it: " + err.Error(), Err: err},
			"fix that, then run weft rollout resume")
	}
	pr.State = Passed
	a.emit(p, plan.EventPhase, "has passed")
	return gated, a.Save(a.run)
}

// keep makes what was done to devices stay over a restart: until a phase has
// passed, a switch that restarts comes back as it was.
func (a *advance) keep(ctx context.Context, steps []plan.PlannedStep) error {
	devices := slice.Map(steps, func(s plan.PlannedStep) string { return s.ID.Device })
	slices.Sort(devices)
	return a.Keep(ctx, slices.Compact(devices))
}

// left are the steps of a phase that are still to be done.
func (a *advance) left(p *Phase, pr *PhaseRun) []plan.PlannedStep {
	done := ids(pr.Steps)
	return slices.DeleteFunc(a.spec.steps(a.plan, p.Name), func(s plan.PlannedStep) bool { return done[s.ID] })
}

// mayBegin stops before a phase that must be approved, or that is outside
// its window.
func (a *advance) mayBegin(ctx context.Context, p *Phase, pr *PhaseRun) error {
	if err := a.hold(p); err != nil {
		return err
	}
	if p.Approve && a.Approved != nil {
		by, err := a.Approved(ctx, p)
		if err != nil {
			pr.Asked, pr.Approved = true, ""
			return a.stop(pr, Waiting, &Stop{Phase: p.Name, Why: "it waits for approval: " + err.Error()},
				fmt.Sprintf("weft approve --phase %s, then: weft rollout step", p.Name))
		}
		pr.Asked, pr.Approved = false, by
		return errors.Join(a.Save(a.run), a.window(p, pr))
	}
	if p.Approve && pr.Approved == "" {
		pr.Asked = true
		return a.stop(pr, Waiting, &Stop{Phase: p.Name, Why: "it waits for approval"},
			"look at it with weft rollout status, then: weft rollout promote")
	}
	return a.window(p, pr)
}

// window stops where a phase may change nothing until its window opens.
func (a *advance) window(p *Phase, pr *PhaseRun) error {
	if p.Window == nil {
		return nil
	}
	if opens := p.Window(a.Now()); opens.After(a.Now()) {
		return a.stop(pr, Waiting, &Stop{Phase: p.Name, Why: "its window opens at " + opens.Format(time.RFC3339)},
			"run weft rollout step again then")
	}
	return nil
}

// hold stops where an operator asked for a pause.
func (a *advance) hold(p *Phase) error {
	if !a.held() {
		return nil
	}
	return a.pause(p)
}

func (a *advance) held() bool { return a.Held != nil && a.Held() }

// pause stops until the run is resumed.
func (a *advance) pause(p *Phase) error {
	a.run.State, a.run.Why = Paused, "a pause was requested"
	return errors.Join(a.Save(a.run), hint.Wrap(&Stop{State: Paused, Phase: p.Name, Why: "paused before it went on"}, "go on with: weft rollout resume"))
}

// stop saves why the run stands still.
func (a *advance) stop(pr *PhaseRun, state State, s *Stop, advice string) error {
	pr.State, a.run.State, a.run.Why = state, state, s.Error()
	s.State = state
	if err := a.Save(a.run); err != nil {
		return err
	}
	return hint.Wrap(s, "%s", advice)
}

// batch carries steps out, one plane after the other.
func (a *advance) batch(ctx context.Context, p *Phase, pr *PhaseRun, steps []plan.PlannedStep) error {
	for _, wave := range waves(steps) {
		if err := a.hold(p); err != nil {
			return err
		}
		pr.State, pr.Begun = Running, wave
		if err := a.Save(a.run); err != nil { // before anything is touched
			return err
		}
		unavailable := 0
		if disturbs(wave) {
			unavailable = a.spec.MaxUnavailable
		}
		chosen := ids(wave)
		res, err := a.Apply(ctx, a.plan.Part(func(s plan.PlannedStep) bool { return chosen[s.ID] }), unavailable)
		did := carriedOut(wave, res)
		pr.Steps, pr.Begun = append(pr.Steps, did...), nil
		pr.asks(did)
		failed := 0
		for _, d := range res.Devices {
			if d.Err != nil {
				failed++
			}
		}
		switch alarm := new(Alarm); {
		case err == nil:
		case ctx.Err() == nil && errors.As(err, &alarm) && (alarm.Verdict == Fail || res.Err() == nil || res.Paused()):
			return a.alarmed(ctx, p, pr, alarm)
		case ctx.Err() == nil && res.Paused() && !a.held(): // what is kept of the run cannot be written just now
			return errors.Join(err, a.Save(a.run))
		case ctx.Err() == nil && res.Paused():
			return a.pause(p)
		case ctx.Err() == nil && res.Held(): // that another run is at work is no failure of what was done
			return errors.Join(a.later(err), a.Save(a.run))
		case ctx.Err() == nil && res.Overtaken(): // nothing is reverted under the hands of another
			return errors.Join(err, a.Save(a.run))
		case ctx.Err() != nil || !touched(res):
			return errors.Join(err, a.Save(a.run)) // what is left is for another time
		case failed > 0 && failed <= a.spec.MaxFailures:
			a.emit(p, plan.EventPhase, fmt.Sprintf("goes on without %d devices: %v", failed, err))
			if err := a.hold(p); err != nil { // some of them may only have been left for later
				return err
			}
		default:
			return a.failed(ctx, p, pr, &Stop{Phase: p.Name, Why: "not everything could be applied: " + err.Error(), Err: err})
		}
	}
	pr.State = Gating
	return a.Save(a.run)
}

// later says how to go on with what another run stands in the way of.
func (a *advance) later(err error) error {
	return hint.Wrap(err, "%s", hint.Join(hint.Of(err), "then: weft rollout resume"))
}

// alarmed does what an alarm asks for: what was carried out is reverted, or,
// where it cannot be judged, goes through the gate before anything else.
func (a *advance) alarmed(ctx context.Context, p *Phase, pr *PhaseRun, alarm *Alarm) error {
	stop := &Stop{Phase: p.Name, Verdict: alarm.Verdict, Why: "while it was carried out, " + alarm.Why}
	pr.State = Gating
	pr.Verdicts = append(pr.Verdicts, Sample{Time: a.Now().UTC(), Validations: []string{"while it was carried out"}, Verdict: alarm.Verdict, Why: alarm.Why})
	if alarm.Verdict == Fail {
		return a.failed(ctx, p, pr, stop)
	}
	a.run.State, a.run.Why = Paused, stop.Error()
	stop.State = Paused
	return errors.Join(a.Save(a.run), hint.Wrap(stop, "look at it; then: weft rollout resume, or to revert it: weft rollout rollback"))
}

// touched reports whether a device was worked on at all.
func touched(res *plan.Result) bool {
	return slices.ContainsFunc(res.Devices, func(d plan.DeviceResult) bool {
		return d.Outcome != plan.DeviceUnchanged && d.Outcome != plan.DeviceUnreachable
	})
}

// carriedOut are the steps that have taken effect, or may have: also those of
// a run that was cut off and could not tell.
func carriedOut(steps []plan.PlannedStep, res *plan.Result) []plan.PlannedStep {
	outcome := map[plan.ID]plan.StepOutcome{}
	for _, d := range res.Devices {
		for _, s := range d.Steps {
			outcome[s.ID] = s.Outcome
		}
	}
	return slices.DeleteFunc(slices.Clone(steps), func(s plan.PlannedStep) bool {
		switch outcome[s.ID] {
		case plan.StepDone, plan.StepAlready, plan.StepFailedVerify, plan.StepUnknown:
			return false
		}
		return true
	})
}

// record measures what is to be kept for comparison. It stops nothing.
func (a *advance) record(ctx context.Context, p *Phase, pr *PhaseRun) error {
	if len(p.Record) == 0 || slices.ContainsFunc(pr.Verdicts, func(v Sample) bool { return v.Recorded }) {
		return nil
	}
	verdict, why, err := a.Judge(ctx, p.Record)
	if ctx.Err() != nil {
		return err
	}
	if err != nil {
		if err := a.hold(p); err != nil {
			return err // it is measured again by whoever resumes
		}
		verdict, why = Inconclusive, err.Error()
	}
	pr.Verdicts = append(pr.Verdicts, Sample{Time: a.Now().UTC(), Validations: p.Record, Verdict: verdict, Why: why, Recorded: true})
	text := "recorded " + strings.Join(p.Record, ", ")
	if why != "" {
		text += ": " + why
	}
	a.emit(p, plan.EventGate, text)
	return a.Save(a.run)
}

func (a *advance) emit(p *Phase, what plan.EventType, text string) {
	if a.Emit == nil {
		return
	}
	a.Emit(plan.Event{Time: a.Now(), Type: what, Message: fmt.Sprintf("phase %q %s", p.Name, text),
		Data: map[string]any{"phase": p.Name, "run": a.run.ID}})
}
