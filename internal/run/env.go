package run

import (
	"context"
	"time"

	"weft/internal/approve"
	"weft/internal/prove"
	"weft/plan"
	"weft/plan/rollout"
)

// An Env is what carrying plans out takes from whoever asks for it: a command with
// its user, or a worker.
type Env struct {
	Records   *Records // of the runs: with them one plan at a time is carried out
	Simulated bool     // the devices are those of the lab
	By        string   // who gives the orders, for the record
	Commit    string   // of the files, for the record; "": it is not known

	Signers   *approve.Signers // who may approve; nil: nobody has to sign, but where the files ask for it
	Approvals []string         // folders with approvals, in addition to that of the run
	Beside    string           // a plan file beside which approvals lie, too; "": none

	// Authors finds out who wrote what is to be rolled out, or says why that is not known; nil:
	// nobody is asked.
	Authors func(*plan.Plan) ([]string, error)

	// Open opens the files that are kept with a plan, as they were when it was made.
	// Whoever calls closes the site.
	Open func(*plan.Plan) (*Site, error)

	Emit     plan.Emit // may be nil
	Audience Audience  // nil: nobody looks
	Pauses   *Pauses   // nil: nobody asks for any

	WorkersWait time.Duration // for the worker of a site to take up its part; 0: without a limit
	Rehearsal   Rehearsal     // nil: it is none

	// Measure measures for gates; nil: prove.Run does, at the devices.
	Measure func(context.Context, prove.Input) (*prove.Result, error)
}

// An Audience is shown how a plan is carried out, in addition to the events.
type Audience interface {
	// Applied: the steps of p were carried out, or not; res says how far.
	Applied(p *plan.Plan, res *plan.Result, took time.Duration)
	// Reached: a piece of work on the run has ended, and this is how far it has come.
	Reached(*rollout.Run, *plan.Plan)
	// Concluded: what checks and outputs say once everything is applied.
	Concluded([]prove.Check, []prove.Output)
	// Interrupted: the context has ended while devices are being changed, which are
	// reverted first.
	Interrupted()
}

// A Rehearsal is a run on a twin of the devices.
type Rehearsal interface {
	// Ease leaves out of a rollout what only takes time.
	Ease(*rollout.Spec)
	// Spares reports whether it goes on whatever the judgement says.
	Spares(prove.Judgement) bool
}

func (e *Env) emit(x plan.Event) {
	if e.Emit != nil {
		e.Emit(x)
	}
}

func (e *Env) spares(j prove.Judgement) bool { return e.Rehearsal != nil && e.Rehearsal.Spares(j) }

// measure measures at a site.
func (e *Env) measure(ctx context.Context, s *Site, in prove.Input) (*prove.Result, error) {
	if e.Measure == nil {
		return s.Measure(ctx, in)
	}
	in.Model, in.Emit = s.Model, e.Emit
	return e.Measure(ctx, in)
}

// watch says what becomes of devices when the context ends while they are being
// changed. The function that it returns ends that.
func (e *Env) watch(ctx context.Context) (end func() bool) {
	if e.Audience == nil {
		return func() bool { return true }
	}
	return context.AfterFunc(ctx, e.Audience.Interrupted)
}
