package run

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"weft/internal/prove"
	"weft/internal/slice"
	"weft/internal/view"
	"weft/inventory"
	"weft/modules"
	"weft/plan"
	"weft/plan/rollout"
)

// Plan reads the devices and plans, with the phases of the rollout where there is
// one. With cables the neighbours of switches that are written to are asked, too: what LLDP
// speaks against is refused.
func (s *Site) Plan(ctx context.Context, in plan.Input, cables bool) (*plan.Plan, error) {
	var unheard error
	in.Arrange = func(made *plan.Plan) {
		modules.Renamed(s.Model, made)
		s.phased(made)
		s.restarts(made)
		made.Refusals = append(made.Refusals, s.policed(made)...)
		if cables {
			unheard = s.refusePlugs(ctx, made)
		}
	}
	made, err := plan.Make(ctx, in)
	return made, errors.Join(err, unheard)
}

// SpecOf is the rollout of a model; nil: it has none.
func SpecOf(m *inventory.Model) *rollout.Spec {
	if len(m.Rollouts) == 0 {
		return nil
	}
	r := m.Rollouts[0]
	s := &rollout.Spec{
		Name: r.Addr, Range: r.Range, MaxUnavailable: r.MaxUnavailable, MaxFailures: r.MaxFailures,
		OnFailure: r.OnFailure, AcceptNoUndo: r.AcceptNoUndo,
	}
	for _, p := range r.Phases {
		phase := rollout.Phase{
			Name: p.Name, Range: p.Range, Select: p.Select, Remaining: p.Remaining, Batch: p.Batch,
			Record: addresses(p.Record), Gate: addresses(p.Gate), Soak: p.Soak, Approve: p.Approve == "manual" || p.Approve == "signed",
			Approvals: p.Approvals, NotBy: p.NotBy, Restart: p.Restart == "rolling",
		}
		if !p.Window.IsZero() {
			phase.Window = p.Window.Next
		}
		s.Phases = append(s.Phases, phase)
	}
	return s
}

func addresses(list []*inventory.Validation) []string {
	return slice.Map(list, func(v *inventory.Validation) string { return v.Addr })
}

// phased gives the steps of a plan their phases, where there is a rollout, and
// refuses those that it could not revert.
func (s *Site) phased(made *plan.Plan) {
	spec := SpecOf(s.Model)
	if spec == nil || made.Destroy {
		return
	}
	none := spec.Assign(made, s.Input.Items)
	for _, id := range none {
		made.Left = append(made.Left, plan.LeftAlone{Device: id.Device, ID: id, Text: "no phase of " + spec.Name + " selects it"})
	}
	made.Steps = slices.DeleteFunc(made.Steps, func(x plan.PlannedStep) bool { return x.Phase == "" })
	for i, x := range made.Steps { // the others are as they are
		made.Steps[i].Needs = slices.DeleteFunc(slices.Clone(x.Needs), func(id plan.ID) bool { return slices.Contains(none, id) })
	}
	made.Refusals = slices.DeleteFunc(made.Refusals, func(r plan.Refusal) bool { return slices.Contains(none, r.ID) })
	for _, x := range spec.Irreversible(made) {
		made.Refusals = append(made.Refusals, plan.Refusal{ID: x.ID, Range: x.Range,
			Text: fmt.Sprintf("it could not be reverted if a gate failed, which %s asks for (%s)", spec.Name, view.Place(spec.Range)),
			Hint: `write accept_no_undo = true, or on_failure = "pause"`})
	}
}

// acceptable refuses names that no validation, and no metric of one, has.
func acceptable(m *inventory.Model, names []string) error {
	for _, name := range names {
		validation, metric, _ := strings.Cut(strings.TrimPrefix(name, "validation."), ".")
		if slices.Contains(prove.BuiltIn(), validation) {
			continue // which metrics weft judges by itself depends on the devices
		}
		i := slices.IndexFunc(m.Validations, func(v *inventory.Validation) bool { return v.Name == validation })
		if i < 0 || metric != "" && metric != "all" && !slices.ContainsFunc(m.Validations[i].Metrics, func(x *inventory.Metric) bool { return x.Name == metric }) {
			return because(Misused, fmt.Errorf("--accept %s: no such validation, or VALIDATION.METRIC", name))
		}
	}
	return nil
}
