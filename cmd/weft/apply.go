package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"weft/internal/hint"
	"weft/internal/run"
	"weft/internal/selector"
)

const applyLong = `apply carries out a saved plan, or makes a plan and asks for confirmation. It makes
the changes of the plan or fewer. If a device changed since the plan was made, apply
changes nothing. If a change fails, apply reverts the device.

A plan starts one run. Applying the same plan again continues that run; if the run is
over, apply refuses (exit 6). store:sha256-… names a plan that weft plan --out saved in
the store of --store, WEFT_STORE or the files. The beginning of the digest is sufficient.

Before the first change, apply locks every device of the run. The lock lasts until the
run ends, also while the run waits. A weft with the record of the run (.weft/store) can
continue it. Any other weft reports the owner of the lock and exits with 7. If the
record is lost, --takeover=RUN makes a new plan, asks, and abandons that run.

With --digest, apply accepts a saved plan only if the file has that digest, and the
files of --chdir, their values and the devices are unchanged since the review. Otherwise
it changes nothing and exits with 6. Make and review a new plan in that case.

With --workers, the workers of the sites (weft worker --site NAME) change the devices,
and this weft leads the run. If it ends, continue the run with weft worker --lead,
weft rollout step, or the same command.

Ctrl-C finishes the devices in progress and starts no others. A second Ctrl-C reverts
the changes in progress. A third one ends weft at once; the auto-revert timers on the
devices then revert the changes.

` + selector.Help

// An applyCommand is weft apply.
type applyCommand struct {
	opts      *options
	out       *printer
	project   *project
	store     *runStore
	fabric    *fabric
	planner   *planner
	approvers *approvers
	executor  *executor
}

func (c *applyCommand) command() *cobra.Command {
	var how order
	f := planFlags{cables: true}
	cmd := &cobra.Command{
		Use: "apply [FILE|store:DIGEST]", Short: "Apply a plan", Args: counted(cobra.MaximumNArgs(1)), Long: applyLong,
		RunE: c.out.does(func(ctx context.Context, args []string) error {
			c.fabric.settle = true
			if len(args) == 1 {
				return c.applyFile(ctx, args[0], f, how)
			}
			return c.applyNew(ctx, f, how)
		}),
	}
	autoApprove(cmd, &how.approve)
	c.planner.scope(cmd, &f)
	cmd.Flags().BoolVar(&f.destroy, "destroy", false, "revert everything that weft did")
	c.approvers.flags(cmd, &how.Accept)
	cmd.Flags().StringVar(&how.signers, "require-signature", "", "require FILE.sig, a signature of the saved plan by a key in this ALLOWED_SIGNERS file (ssh-keygen(1))")
	cmd.Flags().StringVar(&how.digest, "digest", "", "require this digest of the saved plan (weft show --format markdown), and unchanged files")
	cmd.Flags().BoolVar(&how.Workers, "workers", false, "let the workers of the sites carry out the rollout, and lead it from here")
	cmd.Flags().DurationVar(&c.executor.workersWait, "workers-wait", 30*time.Minute, "with --workers: how long to wait until the worker of a site starts its part (then exit code 10); 0: no limit")
	cmd.Flags().StringVar(&how.takeover, "takeover", "", "abandon this run, which started elsewhere, and make a new plan")
	cmd.Flags().StringVar(&how.Phase, "phase", "", "carry out only this phase of the rollout, with its gate")
	return cmd
}

// An order is what an operator asks for in addition to the plan.
type order struct {
	run.Order
	approve  bool   // of a new plan, without being asked
	takeover string // the run of others to abandon; "": none
	signers  string // the file of those who may sign a saved plan; "": it need not be signed
	digest   string // of the saved plan, as it was reviewed; "": any
}

// applyNew goes on with the run of this directory, or makes a plan, asks, and carries it
// out.
func (c *applyCommand) applyNew(ctx context.Context, f planFlags, how order) error {
	if how.digest != "" {
		return usage(hint.Wrap(errors.New("--digest: only a saved plan has one"), "weft apply FILE --digest %s", how.digest))
	}
	if how.signers != "" {
		return usage(hint.Wrap(errors.New("--require-signature: only a saved plan can be signed"), "weft apply FILE --require-signature %s", how.signers))
	}
	if rec, err := c.store.records().Unfinished(ctx, c.opts.lab); err != nil || rec != nil {
		if rec != nil && how.takeover != "" {
			return usage(hint.Wrap(fmt.Errorf("--takeover: this directory has an active run of %s", rec.Run.Begun.Format("2006-01-02 15:04 MST")), "end it first: weft rollout rollback or abort"))
		}
		if err != nil {
			return err
		}
		how.AllowDestroy, how.Another = f.allowDestroy, f.destroy || len(f.target)+len(f.exclude) > 0
		return c.executor.goOn(ctx, rec, how.Order)
	}
	if err := c.declares(how.Phase); err != nil {
		return err
	}
	p, made, err := c.planner.plan(ctx, f)
	if err != nil {
		return err
	}
	defer p.Close()
	if err := c.planner.planned(ctx, made, f); err != nil {
		return notApplied(err)
	}
	if how.takeover != "" {
		if err := c.store.records().TakeOver(ctx, &p.Input, how.takeover, who()); err != nil {
			return err
		}
	}
	if err := p.Input.Held(made); err != nil {
		return &codeError{exitHeld, err}
	}
	if len(made.Steps) > 0 || c.store.records().Taking() {
		if err := c.ask(how.approve); err != nil {
			return err
		}
	}
	if len(made.Steps) == 0 {
		return run.Tidy(ctx, c.executor.env(), p)
	}
	return c.executor.carryOut(ctx, p, made, how.Order)
}

// notApplied says of a plan that cannot be applied that it was not.
func notApplied(err error) error {
	if quiet := new(quietError); errors.As(err, &quiet) {
		return &codeError{quiet.code, errors.New("nothing was applied: see the errors in the plan")}
	}
	return err
}

// declares refuses a phase that the files do not have, before any device is
// asked; without a name there is nothing to refuse.
func (c *applyCommand) declares(phase string) error {
	if phase == "" {
		return nil
	}
	m, err := c.project.load()
	if err != nil {
		return err
	}
	return run.HasPhase(run.SpecOf(m), phase)
}

func (c *applyCommand) ask(approve bool) error {
	return c.out.confirm(approve, "Apply this plan?", "not applied", "pass --auto-approve, or apply a saved plan")
}

// applyFile carries out a saved plan on the inventory text saved with it.
func (c *applyCommand) applyFile(ctx context.Context, path string, f planFlags, how order) error {
	if how.takeover != "" {
		return usage(errors.New("--takeover reads everything anew: a saved plan does not go with it"))
	}
	saved, err := c.readVouched(ctx, path, how)
	if err != nil {
		return err
	}
	if len(f.target)+len(f.exclude) > 0 || f.destroy || f.unreachable == "skip" {
		return usage(errors.New("a saved plan says what is done: --target, --exclude, --destroy and --unreachable do not go with it"))
	}
	if err := f.allowed(saved); err != nil {
		return err
	}
	if saved.Simulated != c.opts.lab {
		return usage(fmt.Errorf("%s was made with --lab=%t and is applied with --lab=%t", path, saved.Simulated, c.opts.lab))
	}
	if len(c.opts.vars)+len(c.opts.varFiles) > 0 {
		return usage(hint.Wrap(errors.New("a saved plan holds its variables: --var and --var-file do not go with it"), "plan again: weft plan --var … --out %s", path))
	}
	if len(f.allowDestroy) > 0 {
		return usage(hint.Wrap(errors.New("the plan says what may be lost: --allow-destroy does not go with a saved one"),
			"plan again: weft plan --allow-destroy='%s' --out %s", strings.Join(f.allowDestroy, "' --allow-destroy='"), path))
	}
	if !strings.HasPrefix(path, "store:") {
		c.approvers.approvals.beside = path
	}
	if err := c.project.trusts(path, saved); err != nil {
		return err
	}
	if how.digest != "" {
		if err := c.current(path, saved); err != nil {
			return err
		}
	}
	rec, err := c.store.records().Begun(ctx, saved)
	if err != nil {
		return err
	}
	if rec != nil {
		return c.executor.goOn(ctx, rec, how.Order)
	}
	p, err := c.fabric.openSaved(saved)
	if err != nil {
		return err
	}
	defer p.Close()
	return c.executor.carryOut(ctx, p, saved, how.Order)
}
