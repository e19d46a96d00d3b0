package run

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"weft/internal/hint"
	"weft/internal/store"
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

	digest store.Digest // of the whole plan, as it was opened: what approvals must be for
	rec    *Record
	crew   *crew // of workers, which reach the devices; nil: this process does

	whole map[[2]string]bool // for a worker: phases and devices of which all steps are known to be done

	clear   map[cleared]bool // phases that were found approved
	ordered bool             // an operator asked for a rollback

	resumed bool          // another weft has begun it
	state   rollout.State // that the audit trail knows

	journal *trail     // while something is being done
	looks   sync.Mutex // guards soak
	soak    *tail      // this process's part of the timeline; nil: there is none yet
}

// stage begins a rollout of a plan.
func (e *Env) stage(ctx context.Context, site *Site, spec *rollout.Spec, made *plan.Plan, sites []string) (*staged, error) {
	now := time.Now()
	s := &staged{env: e, site: site, spec: spec, plan: made, clear: map[cleared]bool{}}
	s.run = rollout.NewRun(runOf(made, now), spec, made, now)
	if slices.ContainsFunc(spec.Phases, func(p rollout.Phase) bool { return slices.Contains(p.NotBy, "author") }) {
		s.run.Authors, _ = e.authors(made) // for the record: who judges finds out again, and says why it cannot
	}
	if e.Signers != nil {
		s.run.Signers = e.Signers.Digest
	}
	var err error
	s.rec, err = e.create(ctx, made, s.run.ID, func(h *Head) {
		h.Rollout = spec.Name
		h.Begun = s.run.Begun
		h.Sites = sites
		h.put(s.run)
	})
	if err != nil {
		return nil, err
	}
	s.rec.Run, s.digest = s.run, s.rec.Head.Plan
	s.crewed()
	if s.crew != nil {
		if err := s.rec.placeDevices(ctx, s.crew.of, changed(made.Steps)); err != nil {
			return nil, err
		}
	}
	return s, s.rec.audit(ctx, AuditEntry{What: auditBegun, By: e.By, Plan: string(s.rec.Head.Plan), Commit: e.Commit})
}

// runOf is the run that a plan is to be: it was named when the plan was saved.
func runOf(made *plan.Plan, now time.Time) string {
	if made.Run != "" {
		return made.Run
	}
	return plan.NewRunID(now)
}

// create keeps a run of a plan before it begins.
func (e *Env) create(ctx context.Context, made *plan.Plan, id string, fill func(*Head)) (*Record, error) {
	h := &Head{ID: id, Owner: made.Owner, Simulated: e.Simulated, Begun: time.Now().UTC(), Who: Holder().Who, By: e.By, Commit: e.Commit, State: rollout.Running}
	fill(h)
	return e.Records.create(ctx, h, made)
}

// resume opens a run again, with the files as they were when it was approved.
func (e *Env) resume(ctx context.Context, rec *Record) (*staged, error) {
	if !e.Records.Shared() {
		if err := owned(e.Records.root()); err != nil {
			return nil, err
		}
	}
	saved, err := rec.Plan(ctx)
	if err != nil {
		return nil, err
	}
	site, err := e.Open(saved)
	if err != nil {
		return nil, err
	}
	return e.restaged(rec, saved, site)
}

// restaged is a run that goes on with its plan, or a part of it, and the files that were
// opened for it.
func (e *Env) restaged(rec *Record, saved *plan.Plan, site *Site) (*staged, error) {
	spec, err := specFor(site.Model, rec.Run)
	if err != nil {
		return nil, errors.Join(err, site.Close())
	}
	s := &staged{env: e, site: site, spec: spec, plan: saved, digest: rec.Head.Plan, run: rec.Run, rec: rec, clear: map[cleared]bool{}, resumed: true, state: rec.Run.State}
	s.crewed()
	return s, nil
}

// save keeps how far the run has come. It fails, and nothing more is begun, where the
// store does not answer or another weft has changed the run.
func (s *staged) save(*rollout.Run) error {
	if s.run.State.Over() { // before anybody sees that it is
		if err := s.came(context.Background()); err != nil {
			return err
		}
	}
	if s.journal != nil {
		s.journal.flush(context.Background())
	}
	if err := s.env.Records.fresh(); err != nil {
		return err
	}
	return s.rec.save(context.Background())
}

// advance goes on with the rollout, until it must stop or, with one, has
// passed one gate.
func (s *staged) advance(ctx context.Context, one bool) error {
	if err := s.mayRevert(ctx, s.phasesIn(func(p rollout.PhaseRun) bool { return p.State == rollout.Reversing })); err != nil {
		return err
	}
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
	if s.crew != nil {
		return s.crew.conclude()
	}
	return s.env.conclude(ctx, s.site, s.rec)
}

// at works on the run, and shows how far it has come. Whoever calls holds the
// directory.
func (s *staged) at(ctx context.Context, do func(rollout.Engine) error) error {
	journal, err := s.rec.trail()
	if err != nil {
		return err
	}
	s.journal = journal
	defer s.env.end(journal)
	s.site.Input.Journal, s.site.Input.Run = journal, s.run.ID
	mark, err := s.marked(ctx)
	if err != nil {
		return err
	}
	if s.resumed && s.run.State != rollout.Aborted && s.crew == nil {
		if err := s.settle(ctx); err != nil {
			return ended(nil, err)
		}
	}
	for _, d := range s.site.Input.Devices {
		d.SaveLater()
	}
	defer s.env.watch(ctx)()
	err = do(s.engine())
	if late := s.came(ctx); late != nil {
		s.env.emit(plan.Event{Type: plan.EventDiagnostic, Level: "error", Message: "the audit trail lacks what the run came to: " + late.Error()})
	}
	if late := s.ended(ctx, mark); late != nil {
		s.env.emit(plan.Event{Type: plan.EventDiagnostic, Level: "error", Message: late.Error()})
	}
	if s.env.Audience != nil {
		s.env.Audience.Reached(s.run, s.plan)
	}
	if errors.As(err, new(*plan.StaleError)) && s.run.State.Underway() {
		err = hint.Wrap(err, "set back on the devices what changed, then go on: weft rollout step; or end the rollout with weft rollout abort or rollback, and plan again")
	}
	if err != nil && !errors.As(err, new(*Error)) {
		return ended(nil, err)
	}
	return err
}

// settle proves and keeps what a weft that was killed in this run has left to
// be reverted by servers themselves; the run goes on from there.
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
