package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"weft/internal/hint"
	"weft/internal/prove"
	"weft/internal/run"
	"weft/internal/view"
	"weft/plan"
	"weft/plan/rollout"
)

// env is what carrying plans out takes from this command.
func (a *app) env() *run.Env {
	e := &run.Env{
		Records: a.runs(), Simulated: a.lab, By: who(), Commit: a.commit(),
		Open: func(saved *plan.Plan) (*run.Site, error) {
			a.settle = true
			if a.runs().Shared() { // whoever may write there has put the plan there
				if err := a.trusts("the plan of the run", saved); err != nil {
					return nil, err
				}
			}
			return a.openSaved(saved)
		},
		Emit: a.emit, Audience: audience{a}, Pauses: &a.pauses, WorkersWait: a.workersWait,
	}
	if a.rehearsal != nil {
		e.Rehearsal = a.rehearsal
	}
	return e
}

// carried is how the command ends after work on a plan. Why a rollout stops stands
// in the last line of what was shown of it.
func (a *app) carried(ctx context.Context, err error) error {
	var cause *run.Error
	var verdict *run.VerdictError
	switch {
	case errors.As(err, &verdict):
		return &quietError{proven(verdict.Verdict)}
	case !errors.As(err, &cause):
		return err
	case cause.Cause == run.None && hint.Of(err) == "":
		return a.noRun(ctx, err)
	case !a.json && cause.Cause == run.Ended && errors.As(err, new(*rollout.Stop)):
		if h := hint.Of(err); h != "" {
			fmt.Fprintf(a.stderr, "  hint: %s\n", h)
		}
		return &quietError{caused(cause)}
	}
	return err
}

// caused is the exit code of a cause.
func caused(e *run.Error) int {
	switch e.Cause {
	case run.Misused:
		return exitUsage
	case run.Taken:
		return exitHeld
	case run.Spent:
		return exitStale
	case run.Waits:
		return exitWaiting
	case run.Stopped:
		return exitInterrupted
	case run.Ended:
		return stopped(e.Result, e.Err)
	}
	return exitError
}

// stopped is the exit code of a rollout that does not go on, and of what Apply did.
func stopped(res *plan.Result, err error) int {
	var stop *rollout.Stop
	if !errors.As(err, &stop) {
		return applied(res, err)
	}
	switch {
	case stop.State == rollout.RolledBack:
		return exitRolledBack
	case stop.State == rollout.Waiting:
		return exitWaiting
	case stop.State == rollout.Paused && (stop.Verdict == rollout.Inconclusive || stop.Verdict == rollout.Partial):
		return exitInconclusive
	case stop.State == rollout.Paused:
		return exitWaiting
	case stop.Verdict == rollout.Fail && stop.Err == nil:
		return exitFailed
	}
	return exitChanged
}

// An audience shows people what events do not tell.
type audience struct{ *app }

func (a audience) Applied(p *plan.Plan, res *plan.Result, took time.Duration) {
	if !a.json {
		view.Applied(a.stdout, p, res, a.style(a.stdout), took)
	}
}

func (a audience) Reached(r *rollout.Run, p *plan.Plan) {
	if !a.json {
		view.Rollout(a.stdout, r, p, "", a.style(a.stdout))
	}
}

func (a audience) Concluded(checks []prove.Check, outputs []prove.Output) {
	if a.json {
		a.emitConclusions(checks, outputs)
	} else {
		view.Conclusions(a.stdout, checks, outputs, a.style(a.stdout))
	}
}

func (a audience) Interrupted() {
	a.emit(plan.Event{Type: plan.EventNote, Level: "warn",
		Message: "interrupted: devices that are being changed are reverted first; another Ctrl-C leaves that to their own timers: servers revert changes of their NICs within 10 minutes, switches at the times said above"})
}
func (a *app) emitConclusions(checks []prove.Check, outputs []prove.Output) {
	for _, c := range checks {
		e := plan.Event{Type: plan.EventVerdict, Message: string(c.Verdict) + " " + c.Name, Data: map[string]any{"check": c}}
		if c.Verdict == prove.Fail {
			e.Level = "error"
		}
		a.emit(e)
	}
	for _, o := range outputs {
		a.emit(plan.Event{Type: plan.EventOutput, Message: o.Name, Data: map[string]any{"output": o}})
	}
}
