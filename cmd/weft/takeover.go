package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"weft/internal/hint"
	"weft/plan"
)

// abandonedFile says, in the folder of a run that was begun elsewhere, that it
// was taken over here.
const abandonedFile = "abandoned.json"

// An abandoned run is one that nobody goes on with: another took its devices.
type abandoned struct {
	Mark    plan.Mark `json:"mark"`
	Devices []string  `json:"devices"` // that carried it
	By      string    `json:"by"`
	Run     string    `json:"run,omitempty"` // that took them; "": there was nothing to do
	Time    time.Time `json:"time"`
}

// takeOver prepares to take the devices of a run over of which this directory has
// no record: they have just been read.
func (a *app) takeOver(p *project, run string) error {
	if m, err := readMarking(filepath.Join(a.runs(), run)); err != nil || m != nil && !m.Over {
		return errors.Join(err, usage(hint.Wrap(fmt.Errorf("--takeover: the record of run %s is in this directory", run),
			"go on with it: weft rollout status shows how, and an apply without a rollout that was killed is done again with weft apply")))
	}
	a.takes = run
	var carry []string
	var mark plan.Mark
	for _, name := range p.marked() {
		for _, m := range marksOf(p.input.Devices[name]) {
			switch {
			case m.Run == run:
				carry = append(carry, name)
				if mark.Token == "" { // what a server says is more than the name on a switch
					mark = m
				}
			case m.Owner == p.model.Name && !a.mine(m):
				return &codeError{exitHeld, plan.NewMarkedError(name, m)}
			}
		}
	}
	if carry == nil {
		return usage(hint.Wrap(fmt.Errorf("--takeover: no device carries the mark of a run %s", run), "weft plan shows the runs that devices belong to"))
	}
	a.taken = &abandoned{Mark: mark, Devices: carry, By: who()}
	a.emit(plan.Event{Type: plan.EventNote, Level: "warn", Message: fmt.Sprintf("%s is taken over: %s", mark.Text(), p.revertible(run, carry)),
		Data: map[string]any{"run": run, "devices": carry}})
	return nil
}

// marked are the devices that carry any mark, as they were last read.
func (p *project) marked() []string {
	var list []string
	for name, d := range p.input.Devices {
		if len(marksOf(d)) > 0 {
			list = append(list, name)
		}
	}
	slices.Sort(list)
	return list
}

func marksOf(d plan.Device) []plan.Mark {
	if m, ok := d.(plan.Marker); ok {
		return m.Marks()
	}
	return nil
}

// revertible says what ledgers still know of what a run found: that can be
// brought back by hand or by the files, since its record is elsewhere.
func (p *project) revertible(run string, devices []string) string {
	var known, unknown []string
	for _, name := range devices {
		k, ok := p.input.Devices[name].(plan.Keeper)
		if !ok {
			unknown = append(unknown, name)
			continue
		}
		n := 0
		for _, e := range k.Kept().Entries {
			if e.Run == run {
				n++
			}
		}
		known = append(known, fmt.Sprintf("%s %d", name, n))
	}
	text := ""
	if known != nil {
		text = "resources that it changed and of which the ledger still says what was there before: " + strings.Join(known, ", ")
	}
	if unknown != nil {
		text += "; a switch keeps no ledger, so nothing is known of what the run found on " + strings.Join(unknown, ", ")
	}
	return strings.TrimPrefix(text, "; ") + ". weft cannot roll that run back: its steps stand in its record only, and a rollback from here leads to what it has left. To go back, declare what was there before and apply that"
}

// succeed ends a run that this one has taken over, once it has its own mark on the
// devices that it changes: the mark goes from the others, and that the run is
// abandoned is recorded. now is nil where there was nothing to change.
func (a *app) succeed(ctx context.Context, p *project, now *marking) error {
	if a.taken == nil {
		return nil
	}
	left := p.input.ClearMarks(context.WithoutCancel(ctx), a.taken.Mark, a.taken.Devices)
	if len(left) > 0 {
		a.emit(plan.Event{Type: plan.EventDiagnostic, Level: "warn", Message: fmt.Sprintf("the mark of run %s could not be taken away from %s: weft unlock --force does it", a.taken.Mark.Run, strings.Join(left, ", "))})
	}
	if a.taken.Time = time.Now().UTC(); now != nil {
		a.taken.Run = now.Mark.Run
	}
	dir := filepath.Join(a.runs(), a.taken.Mark.Run)
	err := (&marking{dir: dir}).folder()
	if err == nil {
		err = writeSynced(filepath.Join(dir, abandonedFile), a.taken)
	}
	if err != nil {
		return fmt.Errorf("record that run %s is abandoned: %w", a.taken.Mark.Run, err)
	}
	a.emit(plan.Event{Type: plan.EventNote, Level: "warn", Message: "run " + a.taken.Mark.Run + " is abandoned: whoever has its record is told so"})
	a.taken = nil
	return nil
}
