package run

import (
	"errors"
	"fmt"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"weft/internal/view"
	"weft/inventory"
	"weft/plan"
)

// policed are the changes of a plan that policies of the files forbid, or cannot judge.
func (s *Site) policed(made *plan.Plan) []plan.Refusal {
	var list []plan.Refusal
	for _, p := range s.Model.Policies {
		for _, step := range made.Steps {
			if step.ID.Kind == plan.LedgerKind {
				continue // weft's own books
			}
			why, err := s.judgePolicy(p, s.policyChange(step))
			if err != nil {
				why = "it cannot be judged: " + err.Error()
			}
			if why == "" {
				continue
			}
			list = append(list, plan.Refusal{ID: step.ID, Range: step.Range, Text: fmt.Sprintf("policy %q forbids it (%s): %s", p.Name, view.Place(p.Range), why),
				Hint: "change the files so that it is allowed, or leave it out with --exclude"})
		}
	}
	return list
}

// judgePolicy is why a policy forbids a change; "": it allows it, or is not about it.
func (s *Site) judgePolicy(p *inventory.Policy, c inventory.PolicyChange) (string, error) {
	if p.When != nil {
		if about, err := s.truth(p.When, c); err != nil || !about {
			return "", err
		}
	}
	if holds, err := s.truth(p.Condition, c); err != nil || holds {
		return "", err
	}
	v, diags := s.Model.Judge(p.Message, c)
	if diags.HasErrors() {
		return "", errors.New(diags[0].Detail)
	}
	if v.IsMarked() {
		return "(the message would show a sensitive value)", nil
	}
	v, err := convert.Convert(v, cty.String)
	if err != nil || !v.IsKnown() || v.IsNull() {
		return "(the message is no text)", nil
	}
	return v.AsString(), nil
}

// truth computes a condition.
func (s *Site) truth(x hcl.Expression, c inventory.PolicyChange) (bool, error) {
	v, diags := s.Model.Judge(x, c)
	if diags.HasErrors() {
		return false, fmt.Errorf("%s: %s", view.Place(x.Range()), diags[0].Detail)
	}
	v, _ = v.Unmark()
	v, err := convert.Convert(v, cty.Bool)
	if err != nil || !v.IsKnown() || v.IsNull() {
		return false, fmt.Errorf("%s: it is neither true nor false", view.Place(x.Range()))
	}
	return v.True(), nil
}

func (s *Site) policyChange(step plan.PlannedStep) inventory.PolicyChange {
	c := inventory.PolicyChange{Address: step.ID.String(), Device: step.ID.Device, Kind: step.ID.Kind, Name: step.ID.Name, Impact: step.Impact().String(), Plane: step.Plane,
		Prune: step.Prune, Drift: step.Drift, Reversible: len(step.Undo) > 0, Before: map[string]string{}, After: map[string]string{}, Phase: step.Phase}
	for _, x := range step.Changes {
		c.Before[x.Path], c.After[x.Path] = x.Before, x.After
	}
	if len(s.Model.Rollouts) == 0 {
		return c
	}
	for _, p := range s.Model.Rollouts[0].Phases {
		if p.Name != step.Phase {
			continue
		}
		c.Window, c.Approve = p.Window.String(), p.Approve
		if p.Soak > 0 {
			c.Soak = p.Soak.String()
		}
		for _, v := range p.Gate {
			c.Gates = append(c.Gates, v.Name)
		}
	}
	return c
}
