package run

import (
	"slices"
	"strings"
	"testing"
	"time"

	"weft/plan"
	"weft/plan/rollout"
)

// leads has a leader that reaches the devices itself go on with the run of an attack.
func (a *attacker) leads(t *testing.T, order func(*Env) error) (*Env, error) {
	t.Helper()
	a.head(t, func(h *Head) { h.Sites = nil })
	e := a.env()
	e.Signers = a.w.Env.Signers
	return e, order(e)
}

func stepOn(t *testing.T) func(*Env) error {
	return func(e *Env) error { return Step(within(t), e, Order{}) }
}

// A leader that reaches devices proves the order of phases, as workers do: the head of the
// run, which any writer of the store may change, has it change, revert or save nothing.
func TestLeaderProof(t *testing.T) {
	t.Parallel()
	done := func(t *testing.T, a *attacker) { // devices have what phase-a does, and the store says so
		t.Helper()
		p := &a.rec.Run.Phases[0]
		p.Steps = slices.DeleteFunc(slices.Clone(a.made.Steps), func(s plan.PlannedStep) bool { return s.Phase != "phase-a" })
		a.rec.kept = map[string]keptDoc{}
		if err := a.rec.save(within(t)); err != nil {
			t.Fatal(err)
		}
	}
	for name, c := range map[string]struct {
		signs []string
		head  func(*Head)
		did   bool
		why   string
	}{
		"first phase said to have passed": {signs: []string{"phase-b"}, head: func(h *Head) { h.Phases[0].State = rollout.Passed }, why: `phase "phase-a" is not approved`},
		"first phase left out":            {signs: []string{"phase-b"}, head: func(h *Head) { h.Phases = h.Phases[1:] }, why: `leaves out phase "phase-a" before it`},
		"said to be reverted":             {did: true, head: reversing, why: `phase "phase-a" is not approved`},
		"said to be proven":               {did: true, head: func(h *Head) { h.Phases[0].State = rollout.Gating }, why: `phase "phase-a" is not approved`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := attack(t)
			a.signs(t, a.rec.Head.Plan, time.Now().Add(time.Hour), c.signs...)
			if c.did {
				done(t, a)
			}
			a.head(t, c.head)
			_, err := a.leads(t, stepOn(t))
			if err == nil || !strings.Contains(err.Error(), c.why) {
				t.Errorf("%v, wanted %s", err, c.why)
			}
			if list := a.fabric.steps(); len(list) > 0 {
				t.Errorf("carried out: %v", list)
			}
		})
	}
}

// Approvals that anybody may delete stop no operator who orders a rollback where no signers
// are known, and a leader goes through both phases where they are approved.
func TestLeaderApproved(t *testing.T) {
	t.Parallel()
	a := attack(t)
	a.signs(t, a.rec.Head.Plan, time.Now().Add(time.Hour), "phase-a", "phase-b")
	e, err := a.leads(t, func(e *Env) error { return Step(within(t), e, Order{}) })
	if err == nil {
		err = Step(within(t), e, Order{})
	}
	if err != nil || stateOf(t, e) != rollout.Passed {
		t.Fatalf("%s: %v", stateOf(t, e), err)
	}
	a.is(t, "new")
	for _, phase := range []string{"phase-a", "phase-b"} {
		if _, err := a.rec.store.Get(within(t), a.rec.approvals(phase)+"/ann"); err != nil {
			t.Fatal(err)
		}
		if err := remove(within(t), a.rec.store, a.rec.approvals(phase)+"/ann"); err != nil {
			t.Fatal(err)
		}
	}
	if err := Rollback(within(t), e, Order{}); err == nil || !strings.Contains(err.Error(), "is not approved") {
		t.Errorf("%v", err)
	}
	a.is(t, "new")
	if stateOf(t, e) != rollout.Passed {
		t.Errorf("the run is %s", stateOf(t, e))
	}
	e = a.env()
	if err := Rollback(within(t), e, Order{}); err != nil || stateOf(t, e) != rollout.RolledBack {
		t.Fatalf("%s: %v", stateOf(t, e), err)
	}
}
