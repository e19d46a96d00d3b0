package plan

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"weft/internal/slice"
)

// Make opens and reads every device in parallel, compares, and orders the
// difference. It changes nothing.
//
// The error is about the items (an ID twice, a need that is not there, a
// cycle) or about the context. A device that cannot be opened or read is no
// error: it is in Plan.Unreachable.
func Make(ctx context.Context, in Input) (*Plan, error) {
	in = in.withDefaults()
	in.probe = true
	beat := startPulse(&in)
	defer beat.stop()
	s, err := take(ctx, &in, beat)
	if err != nil {
		return nil, err
	}
	p := &Plan{
		Format: Format, Version: in.Version, Owner: in.Owner, Simulated: in.Simulated,
		Destroy: in.Destroy, Skip: in.SkipUnreachable, Select: in.Select,
		Refusals: s.refusals, Left: s.left,
		Created: in.Now().UTC(), Notes: in.Notes, Sources: in.Sources, Inputs: in.Inputs,
		Devices: make([]PlannedDevice, 0, len(s.devices)),
	}
	if in.Reverse != nil {
		p.Reverse = in.Reverse.Run
	}
	p.Devices = append(p.Devices, slice.Map(s.devices, (*surveyed).planned)...)
	isStep := func(i int) bool { return s.found[i] != nil && s.found[i].diff.Err == nil }
	needs := s.graph.contract(isStep)
	steps := 0
	for i := range s.items {
		if isStep(i) {
			steps++
		}
	}
	p.Steps = make([]PlannedStep, 0, steps)
	for _, i := range s.graph.order {
		f, item := s.found[i], s.items[i]
		switch {
		case f == nil:
		case f.diff.Err != nil:
			r := newRefusal(item, f.diff.Err)
			r.Drift = f.drift
			p.Refusals = append(p.Refusals, r)
		default:
			p.Steps = append(p.Steps, newPlannedStep(item, f, needs[i], s.items))
		}
	}
	p.allow(in.AllowDestroy)
	if in.Disposable {
		for _, s := range p.losing() {
			p.AllowDestroy = append(slices.Clip(p.AllowDestroy), s.ID.String())
		}
	}
	p.refuseLoss()
	if in.Arrange != nil {
		in.Arrange(p)
	}
	p.announce(&in)
	return p, nil
}

// losing are the steps that lose data which nobody has allowed by name.
func (p *Plan) losing() []PlannedStep {
	return slice.Filter(p.Steps, func(s PlannedStep) bool {
		return s.Impact() == ImpactDataLoss && !slices.Contains(p.AllowDestroy, s.ID.String())
	})
}

// refuseLoss refuses them. The first says how all of them are allowed.
func (p *Plan) refuseLoss() {
	list := p.losing()
	advice := "to allow it by name, plan again with"
	if len(list) > 1 {
		advice = fmt.Sprintf("to allow all %d by name, plan again with", len(list))
	}
	for _, s := range list {
		advice += fmt.Sprintf(" --allow-destroy='%s'", strings.ReplaceAll(s.ID.String(), "'", `'\''`)) // for a shell
	}
	for _, s := range list {
		p.Refusals = append(p.Refusals, Refusal{ID: s.ID, Range: s.Range, Text: "its data would be lost, which --allow-destroy does not allow", Hint: advice})
		advice = ""
	}
}

func newPlannedStep(item Item, f *finding, needs []int, items []Item) PlannedStep {
	s := PlannedStep{ID: item.ID, Range: item.Range, Changes: f.diff.Changes, Send: f.diff.Send, Undo: f.diff.Undo,
		Prune: item.Prunes(), Drift: f.drift, Plane: item.Plane}
	s.Needs = slice.Map(needs, func(n int) ID { return items[n].ID })
	return s
}

// announce emits the plan.
func (p *Plan) announce(in *Input) {
	if in.Emit == nil {
		return
	}
	for _, n := range p.Notes {
		in.emit(Event{Type: EventNote, Message: n.Block + ": " + n.Text,
			Data: map[string]any{"block": n.Block, "range": place(n.Range)}})
	}
	for _, r := range p.Refusals {
		data := map[string]any{"resource": resourceData(r.ID), "range": place(r.Range), "error": r.Text, "drift": r.Drift}
		if r.Hint != "" {
			data["hint"] = r.Hint
		}
		in.emit(Event{Type: EventDiagnostic, Level: "error", Device: r.ID.Device,
			Message: r.ID.String() + " cannot be applied: " + r.Text, Data: data})
	}
	for _, l := range p.Left {
		data := map[string]any{"left_alone": l.Text}
		name := l.Device
		if l.ID != (ID{}) {
			data["resource"], name = resourceData(l.ID), l.ID.String()
		}
		in.emit(Event{Type: EventDiagnostic, Level: "warn", Device: l.Device, Message: name + " is left alone: " + l.Text, Data: data})
	}
	for _, s := range p.Steps {
		data := stepData(s.ID, place(s.Range), s.Changes, s.Send)
		data["undo"], data["needs"], data["prune"], data["drift"] = s.Undo, s.Needs, s.Prune, s.Drift
		if s.Drift {
			data["changes"] = drifted(s.Changes)
		}
		if s.Phase != "" {
			data["phase"] = s.Phase
		}
		in.emit(Event{Type: EventPlanned, Device: s.ID.Device,
			Message: s.ID.String() + " would change", Data: data})
	}
	c := p.Counts()
	in.emit(Event{Type: EventChangeSummary, Message: fmt.Sprintf(
		"%d resources: %d to change, %d as declared, %d refused, %d unread",
		c.Resources, c.Changed, c.Converged, c.Refused, c.Unread),
		Data: map[string]any{"counts": c}})
}

// A driftedChange is a change that sets right what was changed on the device.
type driftedChange struct {
	Change
	Was string `json:"was"` // as weft applied it
	Is  string `json:"is"`  // as it is now
}

func drifted(list []Change) []driftedChange {
	return slice.Map(list, func(c Change) driftedChange { return driftedChange{c, c.After, c.Before} })
}

// stepData describes a step in an event.
func stepData(id ID, place string, changes []Change, lines []string) map[string]any {
	return map[string]any{
		"range":    place,
		"resource": resourceData(id),
		"changes":  changes,
		"impact":   Diff{Changes: changes}.Impact(),
		"lines":    lines,
	}
}

func resourceData(id ID) map[string]any {
	return map[string]any{"addr": id.String(), "kind": id.Kind}
}
