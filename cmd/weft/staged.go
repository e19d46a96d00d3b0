package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"weft/internal/hint"
	"weft/internal/run"
	"weft/internal/view"
	"weft/inventory"
	"weft/plan"
	"weft/plan/rollout"
)

// A staged plan is one that a rollout carries out, with what is kept of it
// between the runs of weft: the plan that was approved, how far it has come,
// and a journal.
type staged struct {
	*project
	app  *app
	spec *rollout.Spec
	plan *plan.Plan
	run  *rollout.Run
	dir  string

	resumed bool      // somebody else has begun it
	lock    *run.Lock // of this directory, by whoever calls; nil: it is held for each piece of work
}

// What a run is kept in.
const (
	runFile     = "rollout.json"
	journalFile = "journal.jsonl"
	planFile    = "plan.weftplan"
	pauseFile   = "pause"
)

func (a *app) runs() string { return filepath.Join(a.place(), ".weft", "runs") }

// specOf is the rollout of a model; nil: it has none.
func specOf(m *inventory.Model) *rollout.Spec {
	if len(m.Rollouts) == 0 {
		return nil
	}
	r := m.Rollouts[0]
	s := &rollout.Spec{
		Name: r.Addr, Range: r.Range, MaxUnavailable: r.MaxUnavailable, MaxFailures: r.MaxFailures,
		OnFailure: r.OnFailure, AcceptNoUndo: r.AcceptNoUndo,
	}
	for _, p := range r.Phases {
		phase := rollout.Phase{
			Name: p.Name, Range: p.Range, Select: p.Select, Remaining: p.Remaining, Batch: p.Batch,
			Record: addresses(p.Record), Gate: addresses(p.Gate), Soak: p.Soak, Approve: p.Approve == "manual",
		}
		if !p.Window.IsZero() {
			phase.Window = p.Window.Next
		}
		s.Phases = append(s.Phases, phase)
	}
	return s
}

func addresses(list []*inventory.Validation) []string {
	var out []string
	for _, v := range list {
		out = append(out, v.Addr)
	}
	return out
}

// phased gives the steps of a plan their phases, where there is a rollout, and
// refuses those that it could not take back.
func phased(p *project, made *plan.Plan) {
	spec := specOf(p.model)
	if spec == nil || made.Destroy {
		return
	}
	none := spec.Assign(made, p.input.Items)
	for _, id := range none {
		made.Left = append(made.Left, plan.LeftAlone{Device: id.Device, ID: id, Text: "no phase of " + spec.Name + " selects it"})
	}
	made.Steps = slices.DeleteFunc(made.Steps, func(s plan.PlannedStep) bool { return s.Phase == "" })
	for i, s := range made.Steps { // the others are as they are
		made.Steps[i].Needs = slices.DeleteFunc(slices.Clone(s.Needs), func(id plan.ID) bool { return slices.Contains(none, id) })
	}
	made.Refusals = slices.DeleteFunc(made.Refusals, func(r plan.Refusal) bool { return slices.Contains(none, r.ID) })
	for _, s := range spec.Irreversible(made) {
		made.Refusals = append(made.Refusals, plan.Refusal{ID: s.ID, Range: s.Range,
			Text: fmt.Sprintf("it could not be reverted if a gate failed, which %s asks for (%s)", spec.Name, view.Place(spec.Range)),
			Hint: `write accept_no_undo = true, or on_failure = "pause"`})
	}
}

// stage begins a rollout of a plan.
func (a *app) stage(p *project, spec *rollout.Spec, made *plan.Plan) (*staged, error) {
	now := time.Now()
	s := &staged{project: p, app: a, spec: spec, plan: made, dir: filepath.Join(a.runs(), plan.NewRunID(now))}
	s.run = rollout.NewRun(filepath.Base(s.dir), spec, made, now)
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return nil, fmt.Errorf("keep the run: %w", err)
	}
	if err := save(made, filepath.Join(s.dir, planFile)); err != nil {
		return nil, err
	}
	if err := s.save(s.run); err != nil {
		return nil, err
	}
	return s, owned(s.dir, filepath.Join(s.dir, planFile), filepath.Join(s.dir, runFile)) // else nobody could go on with it
}

// unfinished finds the latest run of a rollout that is not over; "": there is
// none.
func (a *app) unfinished() (dir string, r *rollout.Run, err error) {
	dir, r, err = a.latest()
	if r == nil || r.State.Over() {
		return "", nil, err
	}
	return dir, r, nil
}

// latest finds the latest run of a rollout; "": there is none.
func (a *app) latest() (dir string, r *rollout.Run, err error) { return a.latestOf(a.lab) }

// latestOf finds it among those of the lab, or of the real devices.
func (a *app) latestOf(simulated bool) (dir string, r *rollout.Run, err error) {
	names, err := filepath.Glob(filepath.Join(a.runs(), "*", runFile))
	if err != nil || len(names) == 0 {
		return "", nil, err
	}
	slices.Sort(names)
	for _, name := range slices.Backward(names) {
		if r, err = readRun(filepath.Dir(name)); err != nil {
			return "", nil, err
		}
		if r.Simulated == simulated {
			return filepath.Dir(name), r, nil
		}
	}
	return "", nil, nil
}

// readRun reads how far a run has come.
func readRun(dir string) (*rollout.Run, error) {
	name := filepath.Join(dir, runFile)
	raw, err := os.ReadFile(name)
	var r *rollout.Run
	if err == nil {
		r, err = rollout.Read(raw)
	}
	if err != nil {
		return nil, hint.Wrap(fmt.Errorf("%s: %w", name, err), "look at the devices with weft plan, and move that folder away")
	}
	return r, nil
}

// same reports whether a phase has come as far as another.
func same(a, b rollout.PhaseRun) bool {
	return a.State == b.State && len(a.Steps) == len(b.Steps) && len(a.Verdicts) == len(b.Verdicts)
}

// resume opens a run again, with the files as they were when it was approved.
func (a *app) resume(dir string, r *rollout.Run) (*staged, error) {
	if err := owned(dir, filepath.Join(dir, planFile), filepath.Join(dir, runFile)); err != nil {
		return nil, err
	}
	saved, err := readPlan(filepath.Join(dir, planFile))
	if err != nil {
		return nil, err
	}
	a.settle = true
	p, err := a.openSaved(saved)
	if err != nil {
		return nil, err
	}
	spec := specOf(p.model)
	if spec != nil { // a run of one phase only
		spec.Phases = slices.DeleteFunc(spec.Phases, func(x rollout.Phase) bool { return !r.Has(x.Name) })
	}
	if spec == nil || !r.Fits(spec) {
		err := fmt.Errorf("the run %s is not one of a rollout that its own plan describes", r.ID)
		return nil, errors.Join(err, p.Close())
	}
	return &staged{project: p, app: a, spec: spec, plan: saved, run: r, dir: dir, resumed: true}, nil
}

// save replaces the record of how far the run has come, whole and synced.
func (s *staged) save(r *rollout.Run) error {
	if err := writeSynced(filepath.Join(s.dir, runFile), r); err != nil {
		return fmt.Errorf("keep the run: %w", err)
	}
	return nil
}

// writeSynced replaces a file for its owner only, whole and synced.
func writeSynced(path string, v any) error {
	raw, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	f, err := os.OpenFile(path+".new", os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(append(raw, '\n'))
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

// advance goes on with the rollout, until it must stop or, with one, has
// passed one gate.
func (s *staged) advance(ctx context.Context, one bool) error {
	end := func() {}
	if s.app.rehearsal == nil { // nobody goes on with one that was held
		end = s.app.pauses.offer()
	}
	err := s.at(ctx, func(e rollout.Engine) error {
		return rollout.Advance(ctx, e, s.spec, s.plan, s.run, one)
	})
	end()
	if err != nil || s.run.State != rollout.Passed || len(s.run.Phases) < len(s.model.Rollouts[0].Phases) || partial(s.plan) {
		return err
	}
	return s.app.conclude(ctx, s.project, s.dir)
}

// rollback takes back what the run did, or one of its phases.
func (s *staged) rollback(ctx context.Context, phase string) error {
	return s.at(ctx, func(e rollout.Engine) error { return rollout.Rollback(ctx, e, s.run, phase) })
}

// at works on the run while nobody else of this directory does, and shows how
// far it has come.
func (s *staged) at(ctx context.Context, do func(rollout.Engine) error) error {
	if s.lock == nil {
		held, err := run.Hold(s.app.place())
		if err != nil {
			return err
		}
		defer held.Close()
	}
	journal, err := os.OpenFile(filepath.Join(s.dir, journalFile), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	defer journal.Close()
	s.input.Journal, s.input.Run = journal, s.run.ID
	mark, err := s.marked(ctx)
	if err != nil {
		return err
	}
	if s.resumed && s.run.State != rollout.Aborted {
		if err := s.settle(ctx); err != nil {
			return &codeError{applied(&plan.Result{}, err), err}
		}
	}
	for _, d := range s.input.Devices {
		if sw, ok := d.(plan.Saver); ok {
			sw.SaveLater()
		}
	}
	defer s.app.farewell(ctx)()
	err = do(s.engine())
	if late := s.ended(ctx, mark); late != nil {
		s.app.emit(plan.Event{Type: plan.EventDiagnostic, Level: "error", Message: late.Error()})
	}
	if !s.app.json {
		view.Rollout(s.app.stdout, s.run, s.plan, "", s.app.style(s.app.stdout))
	}
	stop := new(rollout.Stop)
	switch {
	case err == nil:
		return nil
	case !s.app.json && errors.As(err, &stop): // what it says stands in the last line
		if h := hint.Of(err); h != "" {
			fmt.Fprintf(s.app.stderr, "  hint: %s\n", h)
		}
		return &quietError{stopped(err)}
	}
	return &codeError{stopped(err), err}
}

// settle proves and keeps what a weft that was killed in this run has left to
// be taken back by servers themselves; the run goes on from there.
func (s *staged) settle(ctx context.Context) error {
	in := s.input
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
