package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing/fstest"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"weft/internal/hint"
	"weft/internal/view"
	"weft/inventory"
	"weft/plan"
)

func (a *app) applyCmd() *cobra.Command {
	var approve bool
	var f planFlags
	cmd := &cobra.Command{
		Use: "apply [FILE]", Short: "Carry out a plan", Args: counted(cobra.MaximumNArgs(1)),
		Long: `apply carries out a saved plan, or makes one and asks. It does what the plan says
or less, never more: when a device has moved since the plan was made, nothing is
changed. A device that fails is put back as it was.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			a.begin(cmd)
			a.settle = true
			if len(args) == 1 {
				return a.applyFile(cmd.Context(), args[0], f)
			}
			p, made, err := a.plan(cmd.Context(), f)
			if err != nil {
				return err
			}
			defer p.Close()
			if err := a.planned(made, f); err != nil || len(made.Steps) == 0 {
				return err
			}
			if err := a.allowed(p.model); err != nil {
				return err
			}
			if err := a.ask(approve); err != nil {
				return err
			}
			return a.apply(cmd.Context(), p, made)
		},
	}
	cmd.Flags().BoolVar(&approve, "auto-approve", false, "do not ask")
	f.scope(cmd)
	cmd.Flags().BoolVar(&f.destroy, "destroy", false, "take back everything that weft did")
	cmd.Flags().StringArrayVar(&f.allowDestroy, "allow-destroy", nil, "allow this resource (device/kind.name) to lose data; may be repeated")
	return cmd
}

// allowed refuses what would go past declared gates: phases are not managed
// yet, and apply would do everything at once.
func (a *app) allowed(m *inventory.Model) error {
	if a.lab || len(m.Rollouts) == 0 {
		return nil
	}
	return hint.Wrap(fmt.Errorf("%s: phases, gates and approval are described, not yet managed; apply would do everything at once (%s)",
		m.Rollouts[0].Addr, view.Place(m.Rollouts[0].Range)),
		"take the rollout block out to do everything at once, or rehearse with --lab")
}

func (a *app) ask(approve bool) error {
	if approve {
		return nil
	}
	if f, ok := a.stdin.(*os.File); !ok || a.json || !isTerminal(f) {
		return usage(hint.Wrap(errors.New("there is nobody to ask"), "pass --auto-approve, or apply a saved plan"))
	}
	fmt.Fprint(a.stderr, "\nApply this plan? Only \"yes\" is taken: ")
	answer, _ := bufio.NewReader(a.stdin).ReadString('\n')
	if strings.TrimSpace(answer) != "yes" {
		return errors.New("not applied: the answer was not yes")
	}
	return nil
}

// applyFile carries out a saved plan on the inventory text saved with it.
func (a *app) applyFile(ctx context.Context, path string, f planFlags) error {
	saved, err := readPlan(path)
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
		return usage(errors.New("a saved plan holds its variables: --var and --var-file do not go with it"))
	}
	fsys := fstest.MapFS{}
	for name, text := range saved.Sources {
		fsys[name] = &fstest.MapFile{Data: []byte(text), Mode: 0o600}
	}
	m, err := a.loadFrom(fsys, saved.Inputs)
	if err != nil {
		return err
	}
	if err := a.allowed(m); err != nil {
		return err
	}
	p, err := a.open(m)
	if err != nil {
		return err
	}
	defer p.Close()
	p.input.AllowDestroy = f.allowDestroy
	return a.apply(ctx, p, saved)
}

func (a *app) apply(ctx context.Context, p *project, made *plan.Plan) error {
	held, err := a.hold()
	if err != nil {
		return err
	}
	defer held.Close()
	journal, err := a.journal()
	if err != nil {
		return err
	}
	defer journal.Close()
	p.input.Journal = journal
	begun := time.Now()
	res, err := plan.Apply(ctx, made, p.input)
	if !a.json {
		view.Applied(a.stdout, made, res, a.style(a.stdout), time.Since(begun))
	}
	if err == nil {
		return nil
	}
	return &codeError{applied(res, err), err}
}

// hold keeps a second apply of this directory out before it reads anything.
// Those of other directories are kept out by the leases on the devices.
func (a *app) hold() (*os.File, error) {
	if err := os.MkdirAll(filepath.Join(a.dir, ".weft"), 0o700); err != nil {
		return nil, fmt.Errorf("lock: %w", err)
	}
	f, err := os.OpenFile(filepath.Join(a.dir, ".weft", "apply.lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock: %w", err)
	}
	switch held, err := holdFile(f); {
	case err != nil:
		f.Close()
		return nil, fmt.Errorf("lock %s: %w", f.Name(), err)
	case !held:
		f.Close()
		return nil, &codeError{exitHeld, errors.New("another weft apply is at work in this directory")}
	}
	return f, nil
}

// journal opens the journal of a new run, readable by its owner only.
func (a *app) journal() (*os.File, error) {
	dir := filepath.Join(a.dir, ".weft", "runs", time.Now().UTC().Format("20060102T150405.000000000Z"))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("journal: %w", err)
	}
	return os.OpenFile(filepath.Join(dir, "journal.jsonl"), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
}

func isTerminal(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }
