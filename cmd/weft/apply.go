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
)

const applyLong = `apply carries out a saved plan, or makes one and asks. It does what the plan says
or less, never more: when a device has moved since the plan was made, nothing is
changed. A device that fails is put back as it was.

A plan starts one run: the same plan again goes on with that run, or is refused where
it is over (exit 6). store:sha256-… is a plan that weft plan --out has kept in the
store of --store, WEFT_STORE or the files; the beginning of the digest will do.

Before the first change every device that the run will change is marked for it, until
the run has ended: nobody else changes it meanwhile, also while the run waits. Whoever
has the record of the run (.weft/store) goes on with it; everybody else is told whose
it is, and exits 7. Where that record is lost --takeover=RUN makes a new plan, asks,
and abandons that run.

With --digest a saved plan is applied only if nothing has moved since it was reviewed:
it is the file with that digest, the files of --chdir and their values are those that
it was made from, and the devices are as it found them. Otherwise nothing is changed,
and the exit code is 6: plan again, and review that.

With --workers this weft reaches no device to carry a rollout out: weft worker --site NAME
does, at each site that the files name. It leads the run while it lives; when it is gone
weft worker --lead, weft rollout step or the same order again goes on.

Ctrl-C lets devices that were begun be finished, and begins no other; a second one
puts back what is being changed; a third ends weft at once, and leaves that to the
timers which weft has armed on the devices.`

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
		Use: "apply [FILE|store:DIGEST]", Short: "Carry out a plan", Args: counted(cobra.MaximumNArgs(1)), Long: applyLong,
		RunE: c.out.does(func(ctx context.Context, args []string) error {
			c.fabric.settle = true
			if len(args) == 1 {
				return c.applyFile(ctx, args[0], f, how)
			}
			return c.applyNew(ctx, f, how)
		}),
	}
	cmd.Flags().BoolVar(&how.approve, "auto-approve", false, "do not ask")
	f.scope(cmd)
	cmd.Flags().BoolVar(&f.destroy, "destroy", false, "remove everything that weft did")
	acceptFlag(cmd, &how.Accept)
	c.approvers.signerFlags(cmd)
	cmd.Flags().StringVar(&how.signers, "require-signature", "", "refuse a saved plan without FILE.sig by one of these ALLOWED_SIGNERS, as ssh-keygen(1) describes them")
	cmd.Flags().StringVar(&how.digest, "digest", "", "refuse a saved plan that is not the one that was reviewed (weft show --format markdown), or that is not of the files here")
	cmd.Flags().BoolVar(&how.Workers, "workers", false, "have weft worker at the sites of the files carry the rollout out, and lead it from here")
	cmd.Flags().DurationVar(&c.executor.workersWait, "workers-wait", 30*time.Minute, "with --workers: how long to wait for the worker of a site to take up its part (exit code 10); 0 waits without a limit")
	cmd.Flags().StringVar(&how.takeover, "takeover", "", "abandon this run, which was begun elsewhere and will not be continued, and plan anew")
	cmd.Flags().StringVar(&how.Phase, "phase", "", "carry out this phase of the rollout only, with its gate")
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
			return usage(hint.Wrap(fmt.Errorf("--takeover: this directory has a run of its own, of %s", rec.Run.Begun.Format("2006-01-02 15:04 MST")), "end it first: weft rollout rollback or abort"))
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
		return &codeError{quiet.code, errors.New("nothing was applied: the plan says what stands in the way")}
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
