package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"weft/internal/hint"
	"weft/internal/outfile"
	"weft/internal/run"
	"weft/internal/slice"
	"weft/internal/text"
	"weft/internal/view"
	"weft/plan"
)

// A planner makes, shows and saves plans.
type planner struct {
	opts    *options
	out     *printer
	project *project
	store   *runStore
	fabric  *fabric

	rehearsal *rehearsal // nil: it is none
}

// planFlags say which plan is made, and how it is shown.
type planFlags struct {
	out      string
	sign     string // the key to sign it with
	detailed bool
	show     view.Options

	target, exclude []string
	destroy         bool
	maxImpact       string
	unreachable     string
	allowDestroy    []string

	cables bool // LLDP is asked where the plan writes to switches
}

// scope adds the flags that plan, apply and drift share.
func (pl *planner) scope(cmd *cobra.Command, f *planFlags) {
	s := cmd.Flags()
	s.StringArrayVar(&f.target, "target", nil, "only these devices (SELECTOR) or resources (SELECTOR/kind.name), with their dependencies; may be repeated")
	s.StringArrayVar(&f.exclude, "exclude", nil, "exclude these devices (SELECTOR) or resources (SELECTOR/kind.name), and their dependents; may be repeated")
	s.StringVar(&f.unreachable, "unreachable", "fail", "fail, or skip to continue without unreachable devices and their dependents")
	s.StringVar(&f.maxImpact, "max-impact", "", "refuse a plan with a higher impact: none, traffic, link-flap, reboot or data-loss")
	s.StringArrayVar(&f.allowDestroy, "allow-destroy", nil, "allow data loss for this resource (device/kind.name; * matches a name or a key); the plan stores the names; may be repeated")
	s.BoolVar(&f.show.Lines, "show-config", false, "also show the exact lines to send, and their undo")
	s.BoolVar(&f.show.Concise, "concise", false, "omit devices without changes, and settings without effect")
	pl.project.completeSelectors(cmd, "target", "exclude")
	completeFlag(cmd, "unreachable", "fail", "skip")
	completeFlag(cmd, "max-impact", "none", "traffic", "link-flap", "reboot", "data-loss")
}

// narrow applies the flags to what a plan is made of.
func (f *planFlags) narrow(p *run.Site) error {
	in := &p.Input
	var err error
	if in.Select.Target, err = addresses("target", f.target, p); err != nil {
		return err
	}
	if in.Select.Exclude, err = addresses("exclude", f.exclude, p); err != nil {
		return err
	}
	in.Destroy, in.AllowDestroy = f.destroy, f.allowDestroy
	switch f.unreachable {
	case "", "fail":
	case "skip":
		in.SkipUnreachable = true
	default:
		return usage(fmt.Errorf("--unreachable: there are fail and skip, and not %q", f.unreachable))
	}
	if _, err := f.impact(); err != nil {
		return err
	}
	for _, pattern := range f.allowDestroy {
		if err := plan.CheckAllow(pattern); err != nil {
			return usage(hint.Wrap(fmt.Errorf("--allow-destroy: %w", err), "%s", hint.Of(err)))
		}
	}
	if f.destroy && len(f.target)+len(f.exclude) > 0 {
		return usage(errors.New("--destroy removes everything: --target and --exclude do not go with it"))
	}
	return unmatched(in, nil)
}

// impact is the worst impact that is allowed.
func (f *planFlags) impact() (worst plan.Impact, err error) {
	if f.maxImpact == "" {
		return plan.ImpactDataLoss, nil
	}
	if err := worst.UnmarshalText([]byte(f.maxImpact)); err != nil {
		return 0, usage(fmt.Errorf("--max-impact: %w", err))
	}
	return worst, nil
}

// allowed refuses a plan with a worse impact than --max-impact.
func (f *planFlags) allowed(p *plan.Plan) error {
	worst, err := f.impact()
	if err != nil {
		return err
	}
	var over []string
	for _, s := range p.Steps {
		if s.Impact() > worst {
			over = append(over, fmt.Sprintf("%s (%s)", s.ID, s.Impact()))
		}
	}
	if over == nil {
		return nil
	}
	return hint.Wrap(fmt.Errorf("%d steps have a worse impact than %s, the first is %s", len(over), worst, over[0]),
		"leave them out with --exclude, or allow more with --max-impact")
}

// unmatched refuses addresses that name nothing. made is nil before there is a
// plan.
func unmatched(in *plan.Input, made *plan.Plan) error {
	if list := in.Unmatched(made); len(list) > 0 {
		return usage(hint.Wrap(fmt.Errorf("%s: nothing is declared at that address", strings.Join(list, ", ")),
			"addresses are those that weft plan prints, such as server.node[\"st1\"] or server.node[\"st1\"]/mtu.p0"))
	}
	if made == nil {
		return nil
	}
	if list := in.Unallowed(made); len(list) > 0 {
		return usage(hint.Wrap(fmt.Errorf("--allow-destroy: %s: nothing of that name would lose data in this plan", strings.Join(list, ", ")),
			"leave it out; the plan without --allow-destroy prints the names"))
	}
	if len(made.Devices) == 0 && len(in.Select.Exclude) > 0 {
		return usage(errors.New("--exclude leaves nothing of what is declared and selected"))
	}
	return nil
}

// plan loads, opens and plans. The project is open when there is no error.
func (pl *planner) plan(ctx context.Context, f planFlags) (*run.Site, *plan.Plan, error) {
	m, err := pl.project.load()
	if err != nil {
		return nil, nil, err
	}
	if pl.opts.lab && pl.rehearsal == nil {
		pl.fabric.tellShortfall(m)
	}
	pl.rehearsal.fit(m)
	p, err := pl.fabric.open(m)
	if err != nil {
		return nil, nil, err
	}
	err = f.narrow(p)
	p.Input.Disposable = pl.rehearsal != nil
	var made *plan.Plan
	if err == nil {
		pl.tellCutOff(&p.Input)
		made, err = p.Plan(ctx, p.Input, f.cables)
	}
	if err == nil {
		err = unmatched(&p.Input, made)
	}
	if err != nil {
		return nil, nil, errors.Join(err, p.Close())
	}
	return p, made, nil
}

// planned shows and saves a plan and says how the command ends.
func (pl *planner) planned(ctx context.Context, p *plan.Plan, f planFlags) error {
	if !pl.opts.json {
		f.show.Style = pl.out.style(pl.out.stdout)
		view.Plan(pl.out.stdout, p, f.show)
	}
	if f.out != "" {
		if err := pl.save(ctx, p, f); err != nil {
			return err
		}
	}
	if err := f.allowed(p); err != nil {
		return err
	}
	if pl.opts.untrusted {
		pl.unknown(p)
	}
	switch {
	case pl.opts.untrusted && len(p.Refusals) == 0 && f.detailed:
		return &quietError{exitInconclusive}
	case pl.opts.untrusted && len(p.Refusals) == 0:
		return nil
	case p.Incomplete() != nil && !pl.opts.untrusted:
		return &quietError{incomplete(p.Incomplete())}
	case len(p.Refusals) > 0:
		return &quietError{exitError}
	case f.detailed && len(p.Steps) > 0:
		return &quietError{exitChanges}
	case f.detailed && len(p.Unreachable()) > 0:
		return &quietError{exitUnreachable}
	}
	return nil
}

// tellCutOff says what is left out although nobody excluded it.
func (pl *planner) tellCutOff(in *plan.Input) {
	list := in.CutOff()
	if len(list) == 0 {
		return
	}
	names := slice.Map(list, plan.ID.String)
	note := "--exclude also leaves out what needs it: " + text.List(names, 1)
	pl.out.emit(plan.Event{Type: plan.EventNote, Level: "warn", Message: note, Data: map[string]any{"left_out": names}})
}

// save writes a plan file and its signature, and keeps the plan in a store that others
// share. It names the run that the plan is to be.
func (pl *planner) save(ctx context.Context, p *plan.Plan, f planFlags) error {
	p.Run = plan.NewRunID(time.Now())
	var text bytes.Buffer
	if err := p.Write(&text); err != nil {
		return fmt.Errorf("--out: %w", err)
	}
	if err := pl.out.write(ctx, f.out, text.Bytes(), outfile.Options{Secret: true}); err != nil {
		return hint.Wrap(fmt.Errorf("--out: %w", err), "%s", hint.Of(err))
	}
	if f.sign != "" {
		if err := sign(ctx, f.sign, f.out, text.Bytes()); err != nil {
			return err
		}
	}
	if pl.opts.untrusted || !pl.store.records().Shared() { // what is not known is applied by nobody
		return nil
	}
	digest, err := pl.store.records().KeepPlan(context.Background(), p, who())
	if err != nil {
		return fmt.Errorf("--out: %s is written, and not kept in the store: %w", f.out, err)
	}
	if pl.opts.json {
		pl.out.emit(plan.Event{Type: plan.EventNote, Message: "the plan is kept in " + pl.store.records().Where(), Data: map[string]any{"digest": string(digest), "run": p.Run}})
		return nil
	}
	_, err = fmt.Fprintf(pl.out.stdout, "\nKept in %s, to be carried out from anywhere: weft apply store:%s\n", pl.store.records().Where(), digest)
	return err
}
