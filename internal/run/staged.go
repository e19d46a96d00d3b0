package run

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"weft/plan"
	"weft/plan/rollout"
)

// A staged plan is one that a rollout carries out, with what is kept of it
// between the processes that work on it: the plan that was approved, how far it has come,
// and a journal.
type staged struct {
	env  *Env
	site *Site
	spec *rollout.Spec
	plan *plan.Plan
	run  *rollout.Run
	dir  string

	resumed bool // somebody else has begun it
}

// stage begins a rollout of a plan.
func (e *Env) stage(site *Site, spec *rollout.Spec, made *plan.Plan) (*staged, error) {
	now := time.Now()
	s := &staged{env: e, site: site, spec: spec, plan: made, dir: e.Records.Folder(plan.NewRunID(now))}
	s.run = rollout.NewRun(filepath.Base(s.dir), spec, made, now)
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return nil, fmt.Errorf("keep the run: %w", err)
	}
	if err := savePlan(made, filepath.Join(s.dir, PlanFile)); err != nil {
		return nil, fmt.Errorf("keep the run: %w", err)
	}
	if err := s.save(s.run); err != nil {
		return nil, err
	}
	return s, owned(s.dir, filepath.Join(s.dir, PlanFile), filepath.Join(s.dir, StateFile)) // else nobody could go on with it
}

// same reports whether a phase has come as far as another.
func same(a, b rollout.PhaseRun) bool {
	return a.State == b.State && len(a.Steps) == len(b.Steps) && len(a.Verdicts) == len(b.Verdicts)
}

// resume opens a run again, with the files as they were when it was approved.
func (e *Env) resume(rec *Record) (*staged, error) {
	dir, r := rec.Dir, rec.Run
	if err := owned(dir, filepath.Join(dir, PlanFile), filepath.Join(dir, StateFile)); err != nil {
		return nil, err
	}
	saved, err := rec.Plan()
	if err != nil {
		return nil, err
	}
	site, err := e.Open(saved)
	if err != nil {
		return nil, err
	}
	spec := SpecOf(site.Model)
	if spec != nil { // a run of one phase only
		spec.Phases = slices.DeleteFunc(spec.Phases, func(x rollout.Phase) bool { return !r.Has(x.Name) })
	}
	if spec == nil || !r.Fits(spec) {
		err := fmt.Errorf("the run %s is not one of a rollout that its own plan describes", r.ID)
		return nil, errors.Join(err, site.Close())
	}
	return &staged{env: e, site: site, spec: spec, plan: saved, run: r, dir: dir, resumed: true}, nil
}

// save replaces the record of how far the run has come, whole and synced.
func (s *staged) save(r *rollout.Run) error {
	if err := writeSynced(filepath.Join(s.dir, StateFile), r); err != nil {
		return fmt.Errorf("keep the run: %w", err)
	}
	return nil
}

// advance goes on with the rollout, until it must stop or, with one, has
// passed one gate.
func (s *staged) advance(ctx context.Context, one bool) error {
	end := func() {}
	if s.env.Rehearsal == nil { // nobody goes on with one that was held
		end = s.env.Pauses.offer()
	}
	err := s.at(ctx, func(e rollout.Engine) error {
		return rollout.Advance(ctx, e, s.spec, s.plan, s.run, one)
	})
	end()
	if err != nil || s.run.State != rollout.Passed || len(s.run.Phases) < len(s.site.Model.Rollouts[0].Phases) || partial(s.plan) {
		return err
	}
	return s.env.conclude(ctx, s.site, s.dir)
}

// at works on the run, and shows how far it has come. Whoever calls holds the
// directory.
func (s *staged) at(ctx context.Context, do func(rollout.Engine) error) error {
	journal, err := os.OpenFile(filepath.Join(s.dir, JournalFile), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	defer journal.Close()
	s.site.Input.Journal, s.site.Input.Run = journal, s.run.ID
	mark, err := s.marked(ctx)
	if err != nil {
		return err
	}
	if s.resumed && s.run.State != rollout.Aborted {
		if err := s.settle(ctx); err != nil {
			return ended(nil, err)
		}
	}
	for _, d := range s.site.Input.Devices {
		if sw, ok := d.(plan.Saver); ok {
			sw.SaveLater()
		}
	}
	defer s.env.watch(ctx)()
	err = do(s.engine())
	if late := s.ended(ctx, mark); late != nil {
		s.env.emit(plan.Event{Type: plan.EventDiagnostic, Level: "error", Message: late.Error()})
	}
	if s.env.Audience != nil {
		s.env.Audience.Reached(s.run, s.plan)
	}
	if err != nil {
		return ended(nil, err)
	}
	return nil
}

// settle proves and keeps what a weft that was killed in this run has left to
// be taken back by servers themselves; the run goes on from there.
func (s *staged) settle(ctx context.Context) error {
	in := s.site.Input
	in.Select.Only = []plan.ID{}
	for _, device := range s.devices() { // on others it is not this run's
		in.Select.Only = append(in.Select.Only, plan.ID{Device: device, Kind: plan.LedgerKind, Name: "revert"})
	}
	made, err := plan.Make(ctx, in)
	if err != nil || len(made.Steps) == 0 {
		return err
	}
	_, err = plan.Apply(ctx, made, in)
	return err
}

// savePlan writes a plan file for its owner only.
func savePlan(p *plan.Plan, path string) error {
	var text bytes.Buffer
	if err := p.Write(&text); err != nil {
		return err
	}
	return writeWhole(path, text.Bytes())
}
