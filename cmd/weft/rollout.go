package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"weft/internal/run"
	"weft/internal/view"
	"weft/plan"
	"weft/plan/rollout"
)

// A rolloutCommand is weft rollout.
type rolloutCommand struct {
	opts      *options
	out       *printer
	store     *runStore
	approvers *approvers
	executor  *executor
}

func (rol *rolloutCommand) command() *cobra.Command {
	cmd := &cobra.Command{
		Use: "rollout", Short: "Continue, pause or roll back a rollout", Args: known, RunE: helps,
		Long: `rollout works on the latest rollout that weft apply started with the same store, or on
RUN. It continues with the approved plan, phase after phase. Without --store, the store
is .weft/store of this directory: keep that folder between the runs of a pipeline.`,
	}
	var phase string
	var accept []string
	verb := func(use, short string, args cobra.PositionalArgs, do func(context.Context, []string) error) *cobra.Command {
		c := &cobra.Command{Use: use, Short: short, Args: args, Long: short + ".", RunE: rol.out.does(do)}
		cmd.AddCommand(c)
		return c
	}
	one := counted(cobra.MaximumNArgs(1))
	verb("status [RUN]", "Show how far the rollout has come", one, rol.rolloutStatus)
	order := func(do func(context.Context, *run.Env, run.Order) error, begins bool) func(context.Context, []string) error {
		return func(ctx context.Context, args []string) error {
			o := run.Order{Phase: phase, Accept: accept}
			for _, arg := range args {
				if isRun(arg) {
					o.Run = arg
				} else {
					o.Phase = arg
				}
			}
			e := rol.executor.env()
			if begins { // an end needs no approval, and is not to fail for want of a list
				var err error
				if e, err = rol.executor.signing(ctx); err != nil {
					return err
				}
			}
			return rol.executor.carried(ctx, do(ctx, e, o))
		}
	}
	step := verb("step [RUN]", "Go on until one gate is passed, then exit; 10 means: come again", one, order(run.Step, true))
	promote := verb("promote [RUN] [PHASE]", "Approve the phase that waits for approval, and go on", counted(cobra.MaximumNArgs(2)), order(run.Promote, true))
	verb("pause [RUN]", "Hold the rollout before it touches anything more", one, rol.rolloutPause)
	resume := verb("resume [RUN]", "Go on with a rollout that is held", one, order(run.Resume, true))
	verb("abort [RUN]", "End the rollout and leave the devices as they are", one, order(run.Abort, false))
	back := verb("rollback [RUN]", "Revert what the rollout did, and prove it", one, order(run.Rollback, false))
	back.Flags().StringVar(&phase, "phase", "", "only this phase")
	for _, c := range []*cobra.Command{step, promote, resume} {
		rol.approvers.flags(c, &accept)
	}
	return cmd
}

// isRun tells the name of a run, or its beginning, from that of a phase.
func isRun(arg string) bool {
	return len(arg) >= 8 && strings.Trim(arg[:8], "0123456789") == "" && strings.Trim(arg[8:], "0123456789TZ.") == ""
}

func runEvent(r *rollout.Run) plan.Event {
	return plan.Event{Type: plan.EventPhase, Message: fmt.Sprintf("%s is %s", r.Rollout, r.State), Data: map[string]any{"run": r}}
}

func (rol *rolloutCommand) rolloutStatus(ctx context.Context, args []string) error {
	rec, err := rol.executor.named(ctx, args, rol.store.records().Latest)
	if err != nil {
		return err
	}
	if rec == nil {
		return rol.executor.noRun(ctx, run.ErrNone())
	}
	r := rec.Run
	made, err := rec.Plan(ctx)
	if err != nil {
		return err
	}
	if rol.opts.json {
		rol.out.emit(runEvent(r))
	} else {
		atWork := ""
		if r.State.Underway() {
			atWork = rol.store.records().AtWork(ctx, rol.opts.lab)
		}
		view.Rollout(rol.out.stdout, r, made, atWork, rol.out.style(rol.out.stdout))
	}
	switch {
	case r.State == rollout.Passed || r.State == rollout.Aborted:
		return nil
	case r.State == rollout.RolledBack:
		return &quietError{exitRolledBack}
	}
	return &quietError{exitWaiting}
}

// rolloutPause asks a rollout that may be running elsewhere to stop.
func (rol *rolloutCommand) rolloutPause(ctx context.Context, args []string) error {
	rec, err := rol.executor.named(ctx, args, rol.store.records().Unfinished)
	if err != nil {
		return err
	}
	if rec == nil {
		return rol.executor.noRun(ctx, run.ErrNone())
	}
	if rec.Over() {
		return fmt.Errorf("run %s is over: it is %s", rec.ID, rec.State)
	}
	if err := rec.Hold(ctx, who()); err != nil {
		return err
	}
	r := rec.Run
	text := r.Rollout + " is held before it touches anything more. Go on with: weft rollout resume"
	if rol.opts.json {
		rol.out.emit(plan.Event{Type: plan.EventPhase, Message: text, Data: map[string]any{"run": r}})
		return nil
	}
	_, err = fmt.Fprintln(rol.out.stdout, text)
	return err
}
