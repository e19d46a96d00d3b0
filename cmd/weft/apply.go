package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"weft/internal/hint"
	"weft/internal/run"
	"weft/internal/view"
	"weft/inventory/problem"
	"weft/plan"
	"weft/plan/rollout"
)

func (a *app) applyCmd() *cobra.Command {
	var approve bool
	var takeover string
	var how staging
	f := planFlags{cables: true}
	cmd := &cobra.Command{
		Use: "apply [FILE]", Short: "Carry out a plan", Args: counted(cobra.MaximumNArgs(1)),
		Long: `apply carries out a saved plan, or makes one and asks. It does what the plan says
or less, never more: when a device has moved since the plan was made, nothing is
changed. A device that fails is put back as it was.

Before the first change every device that the run will change is marked for it, until
the run has ended: nobody else changes it meanwhile, also while the run waits. Whoever
has the record of the run (.weft/runs) goes on with it; everybody else is told whose
it is, and exits 7. Where that record is lost --takeover=RUN makes a new plan, asks,
and abandons that run.

Ctrl-C lets devices that were begun be finished, and begins no other; a second one
puts back what is being changed; a third ends weft at once, and leaves that to the
timers which weft has armed on the devices.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			a.begin(cmd)
			a.settle = true
			if takeover != "" && len(args) == 1 {
				return usage(errors.New("--takeover reads everything anew: a saved plan does not go with it"))
			}
			if len(args) == 1 {
				return a.applyFile(cmd.Context(), args[0], f, how)
			}
			if how.signers != "" {
				return usage(hint.Wrap(errors.New("--require-signature: only a saved plan can be signed"), "weft apply FILE --require-signature %s", how.signers))
			}
			if dir, r, err := a.unfinished(); err != nil || r != nil {
				if r != nil && takeover != "" {
					return usage(hint.Wrap(fmt.Errorf("--takeover: this directory has a run of its own, of %s", r.Begun.Format("2006-01-02 15:04 MST")), "end it first: weft rollout rollback or abort"))
				}
				return a.unfinishedBusiness(cmd.Context(), dir, r, err, f, how)
			}
			if err := a.declares(how.phase); err != nil {
				return err
			}
			p, made, err := a.plan(cmd.Context(), f)
			if err != nil {
				return err
			}
			defer p.Close()
			if err := a.planned(made, f); err != nil {
				return err
			}
			if takeover != "" {
				if err := a.takeOver(p, takeover); err != nil {
					return err
				}
			}
			if err := p.input.Held(made); err != nil {
				return &codeError{exitHeld, err}
			}
			if len(made.Steps) == 0 && a.taken == nil {
				return a.idle(cmd.Context(), p)
			}
			if err := a.ask(approve); err != nil {
				return err
			}
			if len(made.Steps) == 0 {
				return a.succeed(cmd.Context(), p, nil)
			}
			return a.carryOut(cmd.Context(), p, made, how)
		},
	}
	cmd.Flags().BoolVar(&approve, "auto-approve", false, "do not ask")
	f.scope(cmd)
	cmd.Flags().BoolVar(&f.destroy, "destroy", false, "remove everything that weft did")
	acceptFlag(cmd, &how.accept)
	cmd.Flags().StringVar(&how.signers, "require-signature", "", "refuse a saved plan without FILE.sig by one of these ALLOWED_SIGNERS, as ssh-keygen(1) describes them")
	cmd.Flags().StringVar(&takeover, "takeover", "", "abandon this run, which was begun elsewhere and will not be continued, and plan anew")
	cmd.Flags().StringVar(&how.phase, "phase", "", "carry out this phase of the rollout only, with its gate")
	return cmd
}

// staging is how a rollout goes.
type staging struct {
	phase  string   // only this one
	accept []string // what may stay without a verdict

	signers string // the file of those who may sign a saved plan; "": it need not be signed
}

// carryOut applies a plan: at once, or phase by phase where a rollout says how.
func (a *app) carryOut(ctx context.Context, p *project, made *plan.Plan, how staging) error {
	spec := specOf(p.model)
	if err := made.Applicable(p.input); err != nil {
		return &codeError{applied(&plan.Result{}, err), err}
	}
	if err := a.plugged(ctx, p, made); err != nil {
		return err
	}
	if spec == nil || made.Destroy {
		if how.phase != "" || how.accept != nil {
			return usage(errors.New("--phase and --accept: the files declare no rollout"))
		}
		return a.apply(ctx, p, made)
	}
	if a.rehearsal != nil {
		a.rehearsal.ease(spec)
	}
	if phase := how.phase; phase != "" {
		if err := hasPhase(spec, phase); err != nil {
			return err
		}
		if err := earlier(spec, made, phase); err != nil {
			return err
		}
		// The plan stays whole: what other phases have left to do is not judged.
		spec.Phases = slices.DeleteFunc(spec.Phases, func(x rollout.Phase) bool { return x.Name != phase })
	}
	if err := acceptable(p.model, how.accept); err != nil {
		return err
	}
	held, err := run.Hold(a.place()) // before there is a run that others would go on with
	if err != nil {
		return err
	}
	defer held.Close()
	if _, other, err := a.unfinished(); err != nil || other != nil {
		return errors.Join(err, &codeError{exitHeld, hint.Wrap(errors.New("another rollout of this directory began while this plan was made: nothing of this plan was begun"), "see weft rollout status")})
	}
	s, err := a.stage(p, spec, made)
	if err == nil {
		s.lock = held
		err = s.accept(how.accept)
	}
	if err != nil {
		return err
	}
	return s.advance(ctx, false)
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
	return hasPhase(specOf(m), phase)
}

func hasPhase(spec *rollout.Spec, phase string) error {
	if spec == nil {
		return usage(errors.New("--phase: the files declare no rollout"))
	}
	var all []string
	for _, p := range spec.Phases {
		all = append(all, p.Name)
	}
	if slices.Contains(all, phase) {
		return nil
	}
	err := fmt.Errorf("--phase: %s has no phase %q", spec.Name, phase)
	if near := problem.Near(phase, all); near != "" {
		return usage(hint.Wrap(err, "did you mean %s?", near))
	}
	return usage(hint.Wrap(err, "there are %s", strings.Join(all, ", ")))
}

// earlier refuses a phase while one before it has something left to do.
func earlier(spec *rollout.Spec, made *plan.Plan, phase string) error {
	for _, before := range spec.Phases {
		if before.Name == phase {
			return nil
		}
		if slices.ContainsFunc(made.Steps, func(s plan.PlannedStep) bool { return s.Phase == before.Name }) {
			return hint.Wrap(fmt.Errorf("phase %q comes before %q and is not done", before.Name, phase), "carry it out first: weft apply --phase %s", before.Name)
		}
	}
	return nil
}

// unfinishedBusiness goes on with a rollout that was cut off; one that waits
// is not overtaken by another.
func (a *app) unfinishedBusiness(ctx context.Context, dir string, r *rollout.Run, err error, f planFlags, how staging) error {
	if err != nil {
		return err
	}
	s, err := a.resume(dir, r)
	if err != nil {
		return err
	}
	defer s.Close()
	if !r.State.Underway() || f.destroy || len(f.target)+len(f.exclude) > 0 || how.phase != "" {
		return hint.Wrap(&codeError{exitWaiting, fmt.Errorf("the %s of %s is %s: %s", s.spec.Name, r.Begun.Format("2006-01-02 15:04 MST"), r.State, r.Why)},
			"see weft rollout status; go on with weft rollout promote or resume, or end it with weft rollout rollback or abort")
	}
	if more := slices.DeleteFunc(slices.Clone(f.allowDestroy), func(name string) bool { return slices.Contains(s.plan.AllowDestroy, name) }); len(more) > 0 {
		return usage(hint.Wrap(fmt.Errorf("the plan that %s goes on with does not allow %s to lose data", s.spec.Name, strings.Join(more, ", ")),
			"go on without that; or end it with weft rollout rollback or abort, and plan anew"))
	}
	if err := s.accept(how.accept); err != nil {
		return err
	}
	if s.lock, err = run.Hold(a.place()); err != nil {
		return err
	}
	defer s.lock.Close()
	if now, err := readRun(dir); err != nil || now.State != r.State || !slices.EqualFunc(now.Phases, r.Phases, same) {
		return errors.Join(err, hint.Wrap(fmt.Errorf("another process went on with %s meanwhile", s.spec.Name), "see weft rollout status"))
	}
	goesOn := "it goes on with the plan that was approved"
	if r.State == rollout.Reversing {
		goesOn = "what it did is reverted; it was approved"
	}
	a.emit(plan.Event{Type: plan.EventNote, Level: "warn", Message: fmt.Sprintf("%s was interrupted: %s %s", s.spec.Name, goesOn, r.Begun.Format("2006-01-02 15:04 MST"))})
	return s.advance(ctx, false)
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
func (a *app) applyFile(ctx context.Context, path string, f planFlags, how staging) error {
	saved, err := a.readVouched(path, how.signers)
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
	if err := a.trusts(path, saved); err != nil {
		return err
	}
	p, err := a.openSaved(saved)
	if err != nil {
		return err
	}
	defer p.Close()
	return a.carryOut(ctx, p, saved, how)
}

func (a *app) apply(ctx context.Context, p *project, made *plan.Plan) error {
	held, err := run.Hold(a.place())
	if err != nil {
		return err
	}
	defer held.Close()
	journal, err := a.journal()
	if err != nil {
		return err
	}
	defer journal.Close()
	mark, err := p.markPlan(ctx, a, filepath.Dir(journal.Name()), made)
	if err != nil {
		return err
	}
	p.input.Journal, p.input.Pause = journal, a.pauses.wanted
	end := a.pauses.offer()
	defer a.farewell(ctx)()
	begun := time.Now()
	res, err := plan.Apply(ctx, made, p.input)
	end()
	if late := errors.Join(mark.end(ctx, a, p), a.sweep(ctx, p, mark.Mark.Run)); late != nil {
		a.emit(plan.Event{Type: plan.EventDiagnostic, Level: "error", Message: late.Error()})
	}
	if !a.json {
		view.Applied(a.stdout, made, res, a.style(a.stdout), time.Since(begun))
	}
	switch {
	case err != nil && res.Paused():
		return hint.Wrap(&codeError{exitInterrupted, err}, "what was begun is done or as it was; weft apply goes on with the rest")
	case err != nil:
		return &codeError{applied(res, err), err}
	case made.Destroy || partial(made):
		return nil // what is there now is not all that the files describe
	}
	return a.conclude(ctx, p, "")
}

// farewell says what becomes of devices when somebody presses Ctrl-C while they
// are being changed. The function that it returns ends that.
func (a *app) farewell(ctx context.Context) (end func() bool) {
	return context.AfterFunc(ctx, func() {
		a.emit(plan.Event{Type: plan.EventNote, Level: "warn",
			Message: "interrupted: devices that are being changed are reverted first; another Ctrl-C leaves that to their own timers: servers revert changes of their NICs within 10 minutes, switches at the times said above"})
	})
}

// journal opens the journal of a new run, readable by its owner only.
func (a *app) journal() (*os.File, error) {
	dir := filepath.Join(a.runs(), plan.NewRunID(time.Now()))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("journal: %w", err)
	}
	return os.OpenFile(filepath.Join(dir, journalFile), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
}

func isTerminal(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }
