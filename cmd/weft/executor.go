package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"time"

	"weft/internal/hint"
	"weft/internal/prove"
	"weft/internal/run"
	"weft/internal/view"
	"weft/plan"
	"weft/plan/rollout"
)

// An executor carries plans out.
type executor struct {
	opts      *options
	out       *printer
	project   *project
	repo      *repository
	store     *runStore
	fabric    *fabric
	planner   *planner
	approvers *approvers

	pauses      run.Pauses    // that Ctrl-C asks for
	workersWait time.Duration // for workers that apply leads; 0: without a limit
}

// env is what carrying plans out takes from this command.
func (ex *executor) env() *run.Env {
	e := &run.Env{
		Records: ex.store.records(), Simulated: ex.opts.lab, By: who(), Commit: ex.repo.commit(),
		Open: func(saved *plan.Plan) (*run.Site, error) {
			ex.fabric.settle = true
			if ex.store.records().Shared() { // whoever may write there has put the plan there
				if err := ex.project.trusts("the plan of the run", saved); err != nil {
					return nil, err
				}
			}
			return ex.fabric.openSaved(saved)
		},
		Emit: ex.out.emit, Audience: audience{ex.opts, ex.out}, Pauses: &ex.pauses, WorkersWait: ex.workersWait,
	}
	if ex.planner.rehearsal != nil {
		e.Rehearsal = ex.planner.rehearsal
	}
	return e
}

// carried is how the command ends after work on a plan. Why a rollout stops stands
// in the last line of what was shown of it.
func (ex *executor) carried(ctx context.Context, err error) error {
	var cause *run.Error
	var verdict *run.VerdictError
	switch {
	case errors.As(err, &verdict):
		return &quietError{proven(verdict.Verdict)}
	case !errors.As(err, &cause):
		return err
	case cause.Cause == run.None && hint.Of(err) == "":
		return ex.noRun(ctx, err)
	case !ex.opts.json && cause.Cause == run.Ended && errors.As(err, new(*rollout.Stop)):
		if h := hint.Of(err); h != "" {
			fmt.Fprintf(ex.out.stderr, "  hint: %s\n", h)
		}
		return &quietError{caused(cause)}
	}
	return err
}

// An audience shows people what events do not tell.
type audience struct {
	opts *options
	out  *printer
}

func (a audience) Applied(p *plan.Plan, res *plan.Result, took time.Duration) {
	if !a.opts.json {
		view.Applied(a.out.stdout, p, res, a.out.style(a.out.stdout), took)
	}
}

func (a audience) Reached(r *rollout.Run, p *plan.Plan) {
	if !a.opts.json {
		view.Rollout(a.out.stdout, r, p, "", a.out.style(a.out.stdout))
	}
}

func (a audience) Concluded(checks []prove.Check, outputs []prove.Output) {
	if a.opts.json {
		a.out.emitConclusions(checks, outputs)
	} else {
		view.Conclusions(a.out.stdout, checks, outputs, a.out.style(a.out.stdout))
	}
}

func (a audience) Interrupted() {
	a.out.emit(plan.Event{Type: plan.EventNote, Level: "warn",
		Message: "interrupted: devices that are being changed are reverted first; another Ctrl-C leaves that to their own timers: servers revert changes of their NICs within 10 minutes, switches at the times said above"})
}

// carryOut applies a plan.
func (ex *executor) carryOut(ctx context.Context, p *run.Site, made *plan.Plan, o run.Order) error {
	e, err := ex.signing(ctx)
	if err != nil {
		return err
	}
	return ex.carried(ctx, run.Start(ctx, e, p, made, o))
}

// goOn goes on with a run that was cut off, or waits.
func (ex *executor) goOn(ctx context.Context, rec *run.Record, o run.Order) error {
	e, err := ex.signing(ctx)
	if err != nil {
		return err
	}
	return ex.carried(ctx, run.Continue(ctx, e, rec, o))
}

// named finds the run of a name, or what find finds where there is none.
func (ex *executor) named(ctx context.Context, args []string, find func(context.Context, bool) (*run.Record, error)) (*run.Record, error) {
	if len(args) == 0 {
		return find(ctx, ex.opts.lab)
	}
	r, err := ex.store.records().Named(ctx, args[0], ex.opts.lab)
	if err == nil && r.Plain() {
		return nil, usage(fmt.Errorf("run %s is no rollout, but a plan that was carried out at once: it is %s", r.ID, r.State))
	}
	return r, err
}

func (ex *executor) noRun(ctx context.Context, err error) error {
	if there := ex.fabric.elsewhere(ctx); there != nil {
		return there
	}
	if over, _ := ex.store.records().Latest(ctx, ex.opts.lab); over != nil {
		return hint.Wrap(err, "the last one, begun %s, is %s: weft rollout status shows it, weft apply begins another", over.Run.Begun.Format("2006-01-02 15:04 MST"), over.Run.State)
	}
	files, _ := filepath.Glob(filepath.Join(ex.opts.place(), "*.weft.hcl")) // the pattern is a good one
	switch r, _ := ex.store.records().Latest(ctx, !ex.opts.lab); {
	case r == nil && len(files) == 0:
		return hint.Wrap(err, "no file of it ends in .weft.hcl: weft -C DIR works in another one")
	case r == nil:
		return hint.Wrap(err, "weft apply begins one")
	case ex.opts.lab:
		return hint.Wrap(err, "none in the lab: that of the real devices, begun %s, is meant without --lab", r.Run.Begun.Format("2006-01-02 15:04 MST"))
	default:
		return hint.Wrap(err, "none of the real devices: that of the lab, begun %s, is meant with --lab", r.Run.Begun.Format("2006-01-02 15:04 MST"))
	}
}

// signing is env with who may approve, for orders that may begin a phase.
func (ex *executor) signing(ctx context.Context) (*run.Env, error) {
	e := ex.env()
	known, err := ex.approvers.knownSigners(ctx)
	if err != nil {
		return nil, err
	}
	e.Signers = known
	e.Authors = func(p *plan.Plan) ([]string, error) {
		base := ""
		if known != nil {
			base = known.Base
		}
		return ex.approvers.writers(ctx, base, p)
	}
	folder := cmp.Or(ex.approvers.approvals.folder, os.Getenv("WEFT_APPROVALS"), filepath.Join(ex.opts.dir, "approvals"))
	e.Approvals, e.Beside = []string{folder}, ex.approvers.approvals.beside
	return e, nil
}

// who is the person or pipeline that gives an order, for the record.
func who() string {
	if name := os.Getenv("GITLAB_USER_LOGIN"); name != "" {
		return name
	}
	if name := os.Getenv("GITHUB_ACTOR"); name != "" {
		return name
	}
	u, err := user.Current()
	if err != nil {
		return "an unknown user"
	}
	return u.Username
}
