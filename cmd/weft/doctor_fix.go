package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"weft/internal/doctor"
	"weft/internal/slice"
	"weft/inventory"
	"weft/plan"
)

// A remedy is a finding, and what of the files mends it.
type remedy struct {
	doctor.Finding
	ids []plan.ID
}

// remedies are the resources that mend findings: of the kinds that the check names, on
// the device of the finding, those of its part where there is one of that name.
func remedies(list []doctor.Finding, items []plan.Item) (out []remedy) {
	for _, f := range list {
		r := remedy{Finding: f}
		for _, kind := range f.Check.Mends {
			var all, named []plan.ID
			for _, i := range items {
				id := i.ID
				if id.Device != f.Place.Device || id.Kind != kind {
					continue
				}
				all = append(all, id)
				if id.Name == f.Place.Part || strings.HasPrefix(f.Place.Part, id.Name+" ") {
					named = append(named, id)
				}
			}
			if named == nil {
				named = all
			}
			r.ids = append(r.ids, named...)
		}
		out = append(out, r)
	}
	return out
}

// cure makes the plan of the remedies that the files hold, shows and saves it, and says
// which findings it mends and which it does not. Nothing is changed.
func (doc *doctorCommand) cure(ctx context.Context, f doctorFlags, list []remedy) error {
	var ids []plan.ID
	for _, r := range list {
		for _, id := range r.ids {
			if !slices.Contains(ids, id) {
				ids = append(ids, id)
			}
		}
	}
	if len(ids) == 0 {
		doc.uncured(list, func(remedy) bool { return false })
		return nil
	}
	flags := planFlags{out: f.out, show: f.show, cables: true}
	flags.target = slice.Map(ids, plan.ID.String)
	p, made, err := doc.planner.plan(ctx, flags)
	if err != nil {
		return err
	}
	defer p.Close()
	err = doc.planner.planned(ctx, made, flags)
	doc.uncured(list, mending(made, p.Model))
	if err != nil && !errors.As(err, new(*quietError)) { // of which doctor's own code says enough
		return err
	}
	if f.out != "" && !onStdout(f.out) && len(made.Steps) > 0 && len(made.Refusals) == 0 && !doc.opts.json {
		fmt.Fprintf(doc.out.stdout, "\nweft apply %s carries it out; weft doctor then says what is left.\n", f.out)
	}
	return nil
}

// mending tells what a plan mends: that of which it has a step, and what is not saved of
// switches that it changes, where they are declared to be saved.
func mending(made *plan.Plan, m *inventory.Model) func(remedy) bool {
	saves := map[string]bool{}
	for _, sw := range m.Switches {
		saves[sw.Addr] = sw.Safety.Save != "never"
	}
	return func(r remedy) bool {
		return slices.ContainsFunc(made.Steps, func(s plan.PlannedStep) bool {
			return slices.Contains(r.ids, s.ID) || r.Check.Saved && s.ID.Device == r.Place.Device && saves[s.ID.Device]
		})
	}
}

// uncured says what the plan mends, and of the rest what has to be done by hand.
func (doc *doctorCommand) uncured(list []remedy, mends func(remedy) bool) {
	var rest []remedy
	for _, r := range list {
		if mends(r) {
			doc.out.emit(plan.Event{Type: plan.EventNote, Device: r.Place.Device, Message: "the plan repairs " + r.Check.ID + " " + r.Place.String(), Data: map[string]any{"mends": r.Say()}})
		} else {
			rest = append(rest, r)
		}
	}
	if doc.opts.json {
		for _, r := range rest {
			doc.out.emit(plan.Event{Type: plan.EventNote, Level: "warn", Device: r.Place.Device, Message: "the plan does not repair " + r.Check.ID + " " + r.Place.String() + ": " + r.Check.Remedy,
				Data: map[string]any{"left": r.Say()}})
		}
		return
	}
	fmt.Fprintf(doc.out.stdout, "\nThe plan repairs %d of %d findings.\n", len(list)-len(rest), len(list))
	for _, r := range rest {
		fmt.Fprintf(doc.out.stdout, "  by hand  %s %s: %s\n", r.Check.ID, r.Place, r.Check.Remedy)
	}
}
