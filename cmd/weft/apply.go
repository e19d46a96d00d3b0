package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"weft/internal/hint"
	"weft/internal/run"
	"weft/plan"
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

func (a *app) applyCmd() *cobra.Command {
	var how order
	f := planFlags{cables: true}
	cmd := &cobra.Command{
		Use: "apply [FILE|store:DIGEST]", Short: "Carry out a plan", Args: counted(cobra.MaximumNArgs(1)), Long: applyLong,
		RunE: a.does(func(ctx context.Context, args []string) error {
			a.settle = true
			if len(args) == 1 {
				return a.applyFile(ctx, args[0], f, how)
			}
			return a.applyNew(ctx, f, how)
		}),
	}
	cmd.Flags().BoolVar(&how.approve, "auto-approve", false, "do not ask")
	f.scope(cmd)
	cmd.Flags().BoolVar(&f.destroy, "destroy", false, "remove everything that weft did")
	acceptFlag(cmd, &how.Accept)
	a.signerFlags(cmd)
	cmd.Flags().StringVar(&how.signers, "require-signature", "", "refuse a saved plan without FILE.sig by one of these ALLOWED_SIGNERS, as ssh-keygen(1) describes them")
	cmd.Flags().StringVar(&how.digest, "digest", "", "refuse a saved plan that is not the one that was reviewed (weft show --format markdown), or that is not of the files here")
	cmd.Flags().BoolVar(&how.Workers, "workers", false, "have weft worker at the sites of the files carry the rollout out, and lead it from here")
	cmd.Flags().DurationVar(&a.workersWait, "workers-wait", 30*time.Minute, "with --workers: how long to wait for the worker of a site to take up its part (exit code 10); 0 waits without a limit")
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
func (a *app) applyNew(ctx context.Context, f planFlags, how order) error {
	if how.digest != "" {
		return usage(hint.Wrap(errors.New("--digest: only a saved plan has one"), "weft apply FILE --digest %s", how.digest))
	}
	if how.signers != "" {
		return usage(hint.Wrap(errors.New("--require-signature: only a saved plan can be signed"), "weft apply FILE --require-signature %s", how.signers))
	}
	if rec, err := a.runs().Unfinished(ctx, a.lab); err != nil || rec != nil {
		if rec != nil && how.takeover != "" {
			return usage(hint.Wrap(fmt.Errorf("--takeover: this directory has a run of its own, of %s", rec.Run.Begun.Format("2006-01-02 15:04 MST")), "end it first: weft rollout rollback or abort"))
		}
		if err != nil {
			return err
		}
		how.AllowDestroy, how.Another = f.allowDestroy, f.destroy || len(f.target)+len(f.exclude) > 0
		return a.goOn(ctx, rec, how.Order)
	}
	if err := a.declares(how.Phase); err != nil {
		return err
	}
	p, made, err := a.plan(ctx, f)
	if err != nil {
		return err
	}
	defer p.Close()
	if err := a.planned(ctx, made, f); err != nil {
		return notApplied(err)
	}
	if how.takeover != "" {
		if err := a.runs().TakeOver(ctx, &p.Input, how.takeover, who()); err != nil {
			return err
		}
	}
	if err := p.Input.Held(made); err != nil {
		return &codeError{exitHeld, err}
	}
	if len(made.Steps) > 0 || a.runs().Taking() {
		if err := a.ask(how.approve); err != nil {
			return err
		}
	}
	if len(made.Steps) == 0 {
		return run.Tidy(ctx, a.env(), p)
	}
	return a.carryOut(ctx, p, made, how.Order)
}

// notApplied says of a plan that cannot be applied that it was not.
func notApplied(err error) error {
	if quiet := new(quietError); errors.As(err, &quiet) {
		return &codeError{quiet.code, errors.New("nothing was applied: the plan says what stands in the way")}
	}
	return err
}

// goOn goes on with a run that was cut off, or waits.
func (a *app) goOn(ctx context.Context, rec *run.Record, o run.Order) error {
	e, err := a.signing(ctx)
	if err != nil {
		return err
	}
	return a.carried(ctx, run.Continue(ctx, e, rec, o))
}

// carryOut applies a plan.
func (a *app) carryOut(ctx context.Context, p *run.Site, made *plan.Plan, o run.Order) error {
	e, err := a.signing(ctx)
	if err != nil {
		return err
	}
	return a.carried(ctx, run.Start(ctx, e, p, made, o))
}

// declares refuses a phase that the files do not have, before any device is
// asked; without a name there is nothing to refuse.
func (a *app) declares(phase string) error {
	if phase == "" {
		return nil
	}
	m, err := a.load()
	if err != nil {
		return err
	}
	return run.HasPhase(run.SpecOf(m), phase)
}

func (a *app) ask(approve bool) error {
	return a.confirm(approve, "Apply this plan?", "not applied", "pass --auto-approve, or apply a saved plan")
}

// confirm asks whoever sits at the terminal. otherwise says what has not
// happened where the answer is no, advice what to do where nobody is asked.
func (a *app) confirm(approve bool, question, otherwise, advice string) error {
	if approve {
		return nil
	}
	if f, ok := a.stdin.(*os.File); !ok || a.json || !isTerminal(f) {
		return usage(hint.Wrap(errors.New("there is no terminal to ask at"), "%s", advice))
	}
	fmt.Fprintf(a.stderr, "\n%s Only \"yes\" is taken: ", question)
	answer, _ := bufio.NewReader(a.stdin).ReadString('\n')
	if strings.TrimSpace(answer) != "yes" {
		return errors.New(otherwise + ": the answer was not yes")
	}
	return nil
}

// applyFile carries out a saved plan on the inventory text saved with it.
func (a *app) applyFile(ctx context.Context, path string, f planFlags, how order) error {
	if how.takeover != "" {
		return usage(errors.New("--takeover reads everything anew: a saved plan does not go with it"))
	}
	saved, err := a.readVouched(ctx, path, how)
	if err != nil {
		return err
	}
	if len(f.target)+len(f.exclude) > 0 || f.destroy || f.unreachable == "skip" {
		return usage(errors.New("a saved plan says what is done: --target, --exclude, --destroy and --unreachable do not go with it"))
	}
	if err := f.allowed(saved); err != nil {
		return err
	}
	if saved.Simulated != a.lab {
		return usage(fmt.Errorf("%s was made with --lab=%t and is applied with --lab=%t", path, saved.Simulated, a.lab))
	}
	if len(a.vars)+len(a.varFiles) > 0 {
		return usage(hint.Wrap(errors.New("a saved plan holds its variables: --var and --var-file do not go with it"), "plan again: weft plan --var … --out %s", path))
	}
	if len(f.allowDestroy) > 0 {
		return usage(hint.Wrap(errors.New("the plan says what may be lost: --allow-destroy does not go with a saved one"),
			"plan again: weft plan --allow-destroy='%s' --out %s", strings.Join(f.allowDestroy, "' --allow-destroy='"), path))
	}
	if !strings.HasPrefix(path, "store:") {
		a.approvals.beside = path
	}
	if err := a.trusts(path, saved); err != nil {
		return err
	}
	if how.digest != "" {
		if err := a.current(path, saved); err != nil {
			return err
		}
	}
	rec, err := a.runs().Begun(ctx, saved)
	if err != nil {
		return err
	}
	if rec != nil {
		return a.goOn(ctx, rec, how.Order)
	}
	p, err := a.openSaved(saved)
	if err != nil {
		return err
	}
	defer p.Close()
	return a.carryOut(ctx, p, saved, how.Order)
}

func isTerminal(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }
