package main

import (
	"context"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"weft/internal/hint"
	"weft/internal/run"
	"weft/internal/view"
	"weft/plan"
	"weft/plan/rollout"
)

func (a *app) rolloutCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use: "rollout", Short: "Go on with a rollout, hold it, or revert it", Args: known, RunE: helps,
		Long: `rollout works on the latest rollout that weft apply began with the same store, or on
the RUN of that name: it goes on with the plan that was approved then, phase after
phase. Without --store the store is .weft/store of this directory: keep that folder
between the runs of a pipeline.`,
	}
	var phase string
	var accept []string
	verb := func(use, short string, args cobra.PositionalArgs, do func(context.Context, []string) error) *cobra.Command {
		c := &cobra.Command{Use: use, Short: short, Args: args, Long: short + ".", RunE: a.does(do)}
		cmd.AddCommand(c)
		return c
	}
	one := counted(cobra.MaximumNArgs(1))
	verb("status [RUN]", "Show how far the rollout has come", one, a.rolloutStatus)
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
			e := a.env()
			if begins { // an end needs no approval, and is not to fail for want of a list
				var err error
				if e, err = a.signing(ctx); err != nil {
					return err
				}
			}
			return a.carried(ctx, do(ctx, e, o))
		}
	}
	step := verb("step [RUN]", "Go on until one gate is passed, then exit; 10 means: come again", one, order(run.Step, true))
	promote := verb("promote [RUN] [PHASE]", "Approve the phase that waits for approval, and go on", counted(cobra.MaximumNArgs(2)), order(run.Promote, true))
	verb("pause [RUN]", "Hold the rollout before it touches anything more", one, a.rolloutPause)
	resume := verb("resume [RUN]", "Go on with a rollout that is held", one, order(run.Resume, true))
	verb("abort [RUN]", "End the rollout and leave the devices as they are", one, order(run.Abort, false))
	back := verb("rollback [RUN]", "Revert what the rollout did, and prove it", one, order(run.Rollback, false))
	back.Flags().StringVar(&phase, "phase", "", "only this phase")
	cmd.AddCommand(a.rolloutView())
	for _, c := range []*cobra.Command{step, promote, resume} {
		acceptFlag(c, &accept)
		a.signerFlags(c)
	}
	return cmd
}

// isRun tells the name of a run, or its beginning, from that of a phase.
func isRun(arg string) bool {
	return len(arg) >= 8 && strings.Trim(arg[:8], "0123456789") == "" && strings.Trim(arg[8:], "0123456789TZ.") == ""
}

// named finds the run of a name, or what find finds where there is none.
func (a *app) named(ctx context.Context, args []string, find func(context.Context, bool) (*run.Record, error)) (*run.Record, error) {
	if len(args) == 0 {
		return find(ctx, a.lab)
	}
	r, err := a.runs().Named(ctx, args[0], a.lab)
	if err == nil && r.Plain() {
		return nil, usage(fmt.Errorf("run %s is no rollout, but a plan that was carried out at once: it is %s", r.ID, r.State))
	}
	return r, err
}

func runEvent(r *rollout.Run) plan.Event {
	return plan.Event{Type: plan.EventPhase, Message: fmt.Sprintf("%s is %s", r.Rollout, r.State), Data: map[string]any{"run": r}}
}

func (a *app) noRun(ctx context.Context, err error) error {
	if there := a.elsewhere(ctx); there != nil {
		return there
	}
	if over, _ := a.runs().Latest(ctx, a.lab); over != nil {
		return hint.Wrap(err, "the last one, begun %s, is %s: weft rollout status shows it, weft apply begins another", over.Run.Begun.Format("2006-01-02 15:04 MST"), over.Run.State)
	}
	files, _ := filepath.Glob(filepath.Join(a.place(), "*.weft.hcl")) // the pattern is a good one
	switch r, _ := a.runs().Latest(ctx, !a.lab); {
	case r == nil && len(files) == 0:
		return hint.Wrap(err, "no file of it ends in .weft.hcl: weft -C DIR works in another one")
	case r == nil:
		return hint.Wrap(err, "weft apply begins one")
	case a.lab:
		return hint.Wrap(err, "none in the lab: that of the real devices, begun %s, is meant without --lab", r.Run.Begun.Format("2006-01-02 15:04 MST"))
	default:
		return hint.Wrap(err, "none of the real devices: that of the lab, begun %s, is meant with --lab", r.Run.Begun.Format("2006-01-02 15:04 MST"))
	}
}

// acceptFlag is how an operator decides not to wait for a verdict.
func acceptFlag(cmd *cobra.Command, names *[]string) {
	cmd.Flags().StringArrayVar(names, "accept", nil, "go on although this validation, or VALIDATION.METRIC, cannot be judged: it is kept with your name; what fails still fails; may be repeated")
}

func (a *app) rolloutStatus(ctx context.Context, args []string) error {
	rec, err := a.named(ctx, args, a.runs().Latest)
	if err != nil {
		return err
	}
	if rec == nil {
		return a.noRun(ctx, run.ErrNone())
	}
	r := rec.Run
	made, err := rec.Plan(ctx)
	if err != nil {
		return err
	}
	if a.json {
		a.emit(runEvent(r))
	} else {
		atWork := ""
		if r.State.Underway() {
			atWork = a.runs().AtWork(ctx, a.lab)
		}
		view.Rollout(a.stdout, r, made, atWork, a.style(a.stdout))
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
func (a *app) rolloutPause(ctx context.Context, args []string) error {
	rec, err := a.named(ctx, args, a.runs().Unfinished)
	if err != nil {
		return err
	}
	if rec == nil {
		return a.noRun(ctx, run.ErrNone())
	}
	if rec.Over() {
		return fmt.Errorf("run %s is over: it is %s", rec.ID, rec.State)
	}
	if err := rec.Hold(ctx, who()); err != nil {
		return err
	}
	r := rec.Run
	text := r.Rollout + " is held before it touches anything more. Go on with: weft rollout resume"
	if a.json {
		a.emit(plan.Event{Type: plan.EventPhase, Message: text, Data: map[string]any{"run": r}})
		return nil
	}
	_, err = fmt.Fprintln(a.stdout, text)
	return err
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
