package leaf

import (
	"context"
	"fmt"
	"slices"

	"weft/internal/slice"
	"weft/plan"
	"weft/switches"
)

// Marks implements plan.Marker.
func (d *Device) Marks() []plan.Mark {
	return slice.Map(d.marks.Runs, d.runOf)
}

// runOf is what the mark of a run on the switch tells of it.
func (d *Device) runOf(r switches.RunMark) plan.Mark {
	m := plan.Mark{Format: plan.MarkFormat, Run: "unknown", Owner: r.Owner, Who: r.Who}
	if r.Owner == switches.ShortOwner(d.cfg.Owner) {
		m.Owner = d.cfg.Owner
	}
	if !r.Began.IsZero() {
		m.Run, m.Since = plan.NewRunID(r.Began), r.Began
	}
	return m
}

// runMark is a mark as it stands on a switch.
func runMark(m plan.Mark) switches.RunMark {
	return switches.NewRunMark(plan.RunBegan(m.Run), m.Owner, m.Who)
}

// Mark implements plan.Marker.
func (d *Device) Mark(ctx context.Context, m plan.Mark, mine func(plan.Mark) bool) error {
	if err := d.reach(ctx); err != nil {
		return err
	}
	if !d.probed { // by whoever planned; nothing was typed anywhere yet
		if _, err := d.Probe(ctx, 0); err != nil {
			return err
		}
	}
	g := d.guard(0)
	g.Confirm = 0
	err := d.session.MarkRun(ctx, g, runMark(m), func(r switches.RunMark) bool { return mine(d.runOf(r)) || d.runOf(r).Run == m.Run })
	if err != nil {
		return d.held(err)
	}
	d.marks.Runs = []switches.RunMark{runMark(m)}
	return nil
}

// Unmark implements plan.Marker.
func (d *Device) Unmark(ctx context.Context, m plan.Mark) error {
	if err := d.reach(ctx); err != nil {
		return err
	}
	its := func(r switches.RunMark) bool { return d.runOf(r).Run == m.Run }
	mark := runMark(m)
	if i := slices.IndexFunc(d.marks.Runs, its); i >= 0 {
		mark = d.marks.Runs[i] // as it stands there
	}
	if err := d.session.UnmarkRun(ctx, mark); err != nil {
		return fmt.Errorf("remove the mark of run %s: %w", m.Run, err)
	}
	d.marks.Runs = slices.DeleteFunc(slices.Clone(d.marks.Runs), its)
	return nil
}

// reach connects to a switch that is not connected.
func (d *Device) reach(ctx context.Context) error {
	if d.session != nil {
		return nil
	}
	if _, err := d.Open(ctx); err != nil {
		return &plan.UnreachableError{Devices: []string{d.cfg.Name}, Err: err}
	}
	return nil
}

// BreakMark implements plan.Marker.
func (d *Device) BreakMark(ctx context.Context, m plan.Mark) error { return d.Unmark(ctx, m) }

// ReadMarks implements plan.Marker.
func (d *Device) ReadMarks(ctx context.Context) ([]plan.Mark, error) {
	if err := d.connect(ctx); err != nil {
		return nil, err
	}
	m, err := d.session.Marks(ctx)
	if err != nil {
		return nil, err
	}
	d.marks = m
	return d.Marks(), nil
}
