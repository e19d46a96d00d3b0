package run

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"weft/internal/approve"
	"weft/plan/rollout"
)

// An AuditCase is what the trail of a run is judged against.
type AuditCase struct {
	Owner   string
	Signers approve.Signers
	Authors []string      // who wrote what was rolled out; nil: not known
	Spec    *rollout.Spec // of the plan of the run; nil: it is not here, and no count is known
	Passed  bool          // all phases of the run have passed
}

// Claimed reports whether an entry carries no signature. Any process that may write to the store
// can write such an entry.
func (x *AuditEntry) Claimed() bool { return len(x.Signed) == 0 }

// Judge verifies by the list of signers who has signed the entries of a trail, and that as
// many did as the plan asks for. It returns the people by entry, and everything that is wrong.
func (c *AuditCase) Judge(list []AuditEntry) (by [][]string, wrong error) {
	by = make([][]string, len(list))
	var errs []error
	approved := map[string]bool{}
	for i := range list {
		x := &list[i]
		if x.What != auditApproved && (x.What != auditAccepted || x.Claimed() && !c.asks()) {
			continue
		}
		rule, err := c.rule(x.Phase)
		if err == nil {
			by[i], err = c.entry(x, list[0].Plan, rule)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("entry %d (%s, phase %q): %w", x.N, x.What, x.Phase, err))
			continue
		}
		if x.What == auditApproved {
			approved[x.Phase] = true
		}
	}
	if c.Spec != nil && c.Passed {
		for _, p := range c.Spec.Phases {
			if p.Approve && !approved[p.Name] {
				errs = append(errs, fmt.Errorf("phase %q has passed, and the trail has no approval of it that is good", p.Name))
			}
		}
	}
	return by, errors.Join(errs...)
}

// asks reports whether the plan asks for signatures.
func (c *AuditCase) asks() bool {
	return c.Spec != nil && slices.ContainsFunc(c.Spec.Phases, func(p rollout.Phase) bool { return p.Approvals > 0 })
}

// rule is what the plan asks of the approvals of a phase; without the plan it is one signature.
func (c *AuditCase) rule(phase string) (approve.Rule, error) {
	if c.Spec == nil {
		return approve.Rule{}, nil
	}
	i := slices.IndexFunc(c.Spec.Phases, func(p rollout.Phase) bool { return p.Name == phase })
	if i < 0 {
		return approve.Rule{}, errors.New("the plan has no such phase")
	}
	r := approve.Rule{Count: c.Spec.Phases[i].Approvals, Not: c.Spec.Phases[i].NotBy}
	if c.Authors == nil { // said by whoever prints it
		r.Not = slices.DeleteFunc(slices.Clone(r.Not), func(name string) bool { return name == "author" })
	}
	return r, nil
}

// entry judges the signatures of one entry.
func (c *AuditCase) entry(x *AuditEntry, planned string, rule approve.Rule) ([]string, error) {
	all := make([]approve.Signed, len(x.Signed))
	for i, text := range x.Signed {
		all[i] = approve.Split(fmt.Sprintf("signature %d", i+1), []byte(text))
	}
	owner := c.Owner
	if owner == "" && len(all) > 0 { // the trail is a file: the statements name it
		if s, err := approve.Parse(all[0].Text); err == nil {
			owner = s.Owner
		}
	}
	k := approve.Case{Owner: owner, Run: x.Run, Phase: x.Phase, Plan: planned, Accept: x.accepts(), Signers: c.Signers, Authors: c.Authors, Now: x.Time, Begun: true}
	people, refused, err := k.Judge(rule, all)
	if err == nil {
		return people, nil
	}
	why := []string{err.Error()}
	for _, r := range refused {
		why = append(why, r.String())
	}
	return nil, errors.New(strings.Join(why, "; "))
}
