package run

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"weft/internal/prove"
	"weft/internal/slice"
	"weft/internal/text"
	"weft/internal/view"
	"weft/internal/wait"
	"weft/plan"
	"weft/plan/rollout"
)

func (s *staged) engine() rollout.Engine {
	return rollout.Engine{
		Apply:   s.apply,
		Reverse: s.reverse,
		Restart: s.restart,
		Judge: func(ctx context.Context, validations []string) (rollout.Verdict, string, error) {
			look, end := s.env.Pauses.until(ctx)
			defer end()
			verdict, why, err := s.judge(look, validations)
			if look.Err() != nil { // what was cut short failed for no reason of the fabric
				return rollout.Inconclusive, "", interrupted(look)
			}
			return verdict, why, err
		},
		Approved: s.approver(),
		Keep:     s.persist,
		Save:     s.save,
		Held:     s.held,
		Emit:     s.env.emit, Now: time.Now,
		Sleep: func(ctx context.Context, d time.Duration) error {
			wait, end := s.env.Pauses.until(ctx)
			defer end()
			return sleep(wait, d)
		},
	}
}

// held reports whether an operator asked for a pause, here or elsewhere.
func (s *staged) held() bool {
	ctx, cancel := context.WithTimeout(context.Background(), heldPatience)
	defer cancel()
	return s.env.Pauses.wanted() || s.rec.isHeld(ctx)
}

// heldPatience is how long the store is asked whether a pause is wanted.
const heldPatience = 2 * time.Second

// heldEvery is how often the store is asked that while devices are being changed.
const heldEvery = time.Second

// halts says for each device that is about to be changed whether it is to be left for
// later: a pause is wanted, there is an alarm, or the lease was not renewed in time.
func (s *staged) halts(g *guard) func() bool {
	var mu sync.Mutex
	var asked time.Time
	held := false
	return func() bool {
		mu.Lock()
		defer mu.Unlock()
		if !held && time.Since(asked) >= heldEvery {
			held, asked = s.held(), time.Now()
		}
		return held || s.env.Pauses.wanted() || g.raised() || s.env.Records.fresh() != nil
	}
}

func interrupted(ctx context.Context) error {
	return fmt.Errorf("interrupted: %w", context.Cause(ctx))
}

func sleep(ctx context.Context, d time.Duration) error {
	if !wait.For(ctx, d) {
		return interrupted(ctx)
	}
	return nil
}

func (s *staged) apply(ctx context.Context, part *plan.Plan, unavailable int) (*plan.Result, error) {
	if s.crew != nil {
		return s.crew.apply(ctx, part, unavailable)
	}
	if err := s.mayApplySteps(ctx, part.Steps); err != nil {
		return plan.Undone(part, err), err
	}
	s.advanceMark()
	in := s.site.Input
	begun := time.Now()
	g := s.guard(ctx, part)
	in.Unavailable, in.Failures, in.Pause = unavailable, s.spec.MaxFailures, s.halts(g)
	res, err := plan.Apply(ctx, part, in)
	alarm := g.end(ctx, res)
	if err != nil && s.env.Audience != nil && !res.Paused() {
		s.env.Audience.Applied(part, res, time.Since(begun))
	}
	return res, errors.Join(err, alarm)
}

// reverse takes steps of this run back. What an operator changed since is left
// alone, and then it is not all as it was.
func (s *staged) reverse(ctx context.Context, steps []plan.PlannedStep) (*plan.Result, error) {
	if s.crew != nil {
		return s.crew.reverse(ctx, steps)
	}
	if err := s.mayRevert(ctx, phasesOf(steps)); err != nil {
		return nil, err
	}
	in := s.site.Input
	in.Select, in.Reverse = plan.Selection{}, &plan.Reversal{Run: s.run.ID, Steps: steps}
	made, err := plan.Make(ctx, in)
	if err != nil {
		return nil, err
	}
	res, err := plan.Apply(ctx, made, in)
	if err == nil && len(made.Left) > 0 {
		list := slice.Map(made.Left, func(l plan.LeftAlone) string { return fmt.Sprintf("%s: %s", l.ID, l.Text) })
		err = errors.New(strings.Join(list, "; "))
	}
	return res, err
}

// judge is the verdict of validations, less what an operator has accepted to go
// without a verdict. A place that could not be measured leaves it partial, unless the files
// allow that by name.
func (s *staged) judge(ctx context.Context, validations []string) (rollout.Verdict, string, error) {
	res, err := s.measured(ctx, validations)
	if err != nil {
		return rollout.Inconclusive, "", err
	}
	verdict, why := s.weigh(res)
	return verdict, why, nil
}

// weigh is the verdict of what was measured, with its reason.
func (s *staged) weigh(res *prove.Result) (rollout.Verdict, string) {
	verdict, why, judged, accepted := prove.Pass, "", 0, []string{}
	for _, j := range res.Judgements {
		weight := j.Weight()
		switch {
		case j.Verdict == prove.NotMeasured && weight == prove.Pass:
			continue
		case rollout.Verdict(weight).Open() && s.run.Accepts(j.Validation, j.Metric):
			if what := j.Validation + "." + j.Metric; !slices.Contains(accepted, what) {
				accepted = append(accepted, what)
			}
			continue
		case s.env.spares(j):
			continue
		case weight.Severity() > verdict.Severity():
			verdict, why = weight, view.Judged(j)
		}
		judged++
	}
	if judged == 0 && len(accepted) == 0 && s.env.Rehearsal == nil {
		verdict, why = prove.Inconclusive, "there is nothing that could be judged"
	}
	why = uncovered(verdict, why, accepted, res)
	if verdict == prove.Pass && res.DegradedAllowed() != "" {
		why = strings.TrimPrefix(why+"; degraded (allowed)", "; ") // without numbers: verdicts that repeat are shown as one
	}
	return rollout.Verdict(verdict), why
}

// uncovered adds to a reason what a gate did not measure: what passes says it, and a partial
// verdict says how to allow it.
func uncovered(v prove.Verdict, why string, accepted []string, res *prove.Result) string {
	var parts []string
	if why != "" {
		parts = append(parts, why)
	}
	c := res.Coverage()
	switch v {
	case prove.Partial:
		if len(c.Allow) > 0 {
			parts = append(parts, view.AllowUnmeasured(res)+" in the validation allows it")
		}
	case prove.Pass:
		if len(accepted) > 0 {
			parts = append(parts, "not judged, which was accepted: "+strings.Join(accepted, ", "))
		}
		if len(c.Allowed) > 0 {
			parts = append(parts, "not measured, which allow_unmeasured allows: "+text.List(c.Allowed, mostNamed))
		}
	}
	return strings.Join(parts, "; ")
}

// persist saves what switches do now. What is said names all that would not.
func (s *staged) persist(ctx context.Context, devices []string) error {
	if s.crew != nil {
		return s.crew.persist(ctx, devices)
	}
	if err := s.mayKeep(ctx, devices); err != nil {
		return err
	}
	errs := make([]error, len(devices))
	turn := make(chan struct{}, max(s.site.Input.Parallelism, 1))
	var all sync.WaitGroup
	for i, name := range devices {
		sw := s.site.Input.Devices[name]
		if sw == nil || !sw.Capabilities().Save {
			continue
		}
		turn <- struct{}{}
		all.Go(func() {
			defer func() { <-turn }()
			if err := sw.Save(ctx); err != nil {
				errs[i] = fmt.Errorf("save the configuration of %s: %w", name, err)
			}
		})
	}
	all.Wait()
	return errors.Join(errs...)
}

// accept notes what may stay without a verdict.
func (s *staged) accept(ctx context.Context, names []string) error {
	if err := acceptable(s.site.Model, names); err != nil {
		return err
	}
	notes, err := s.mayAccept(ctx, names)
	if err != nil {
		return err
	}
	for i, name := range names {
		if err := s.rec.audit(ctx, notes[i]); err != nil {
			return err
		}
		s.run.Accepted = append(s.run.Accepted, rollout.Acceptance{What: strings.TrimPrefix(name, "validation."), By: s.env.By, Time: time.Now().UTC()})
	}
	return nil
}
