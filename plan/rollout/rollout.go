// Package rollout carries a plan out in phases: batch after batch, each proven
// by its gate and soaked before the next one begins.
package rollout

import (
	"slices"
	"time"

	"github.com/hashicorp/hcl/v2"

	"weft/plan"
)

// A Spec is what a rollout block says.
type Spec struct {
	Name           string
	Range          hcl.Range
	MaxUnavailable int // devices of a plane that are worked on at once; 0: no bound
	MaxFailures    int // devices that may fail, and be reverted, before it stops
	OnFailure      string
	AcceptNoUndo   bool // begin although something could not be reverted
	Phases         []Phase
}

// What becomes of a phase whose gate fails.
const (
	Pause         = "pause"
	RollbackPhase = "rollback-phase"
	RollbackAll   = "rollback-all"
)

// A Phase is one part of a rollout.
type Phase struct {
	Name      string
	Range     hcl.Range
	Select    []string // HCL addresses of instances
	Remaining bool     // all that no phase selects
	Batch     []string // devices at a time: "1", "25%"; the last holds for the rest
	Record    []string // validations that are measured and kept, and never stop it
	Gate      []string // validations that must pass after each batch
	Soak      time.Duration
	Restart   bool     // devices on which a step needs it are restarted before the gate, one after another
	Approve   bool     // it must be approved before it begins
	Approvals int      // by so many signatures; 0: by whoever promotes, or one signature
	NotBy     []string // whose signatures do not count
	// Window says when the phase, or a batch of it, may begin next, seen from a
	// time: that time itself where it may now. nil: always.
	Window func(time.Time) time.Time
}

// Assign gives every step of a plan its phase: that of the most specific block
// it is a part of, or a later one where it needs something of a later phase.
// What is pruned comes with its device, or last. It returns the steps that
// are in no phase: those of blocks that none selects.
func (s *Spec) Assign(p *plan.Plan, items []plan.Item) (none []plan.ID) {
	of := map[string]int{}
	rest, last := -1, 0
	for i, phase := range s.Phases {
		for _, addr := range phase.Select {
			of[addr] = i
		}
		if phase.Remaining {
			rest = i
		}
		if phase.Remaining || len(phase.Select) > 0 {
			last = i
		}
	}
	blocks := make(map[plan.ID][]string, len(items))
	for _, item := range items {
		blocks[item.ID] = item.Blocks
	}
	at := make(map[plan.ID]int, len(p.Steps))
	for i := range p.Steps {
		step := &p.Steps[i]
		n := rest
		list, declared := blocks[step.ID]
		if !declared {
			n, list = last, []string{step.ID.Device}
		}
		for _, addr := range list {
			if k, ok := of[addr]; ok {
				n = k
				break
			}
		}
		for _, need := range step.Needs {
			if k, ok := at[need]; ok && n >= 0 {
				n = max(n, k)
			}
		}
		at[step.ID] = n
	}
	s.books(p, at)
	for i := range p.Steps {
		step := &p.Steps[i]
		if step.Phase = ""; at[step.ID] < 0 {
			none = append(none, step.ID)
			continue
		}
		step.Phase = s.Phases[at[step.ID]].Name
	}
	place := func(step plan.PlannedStep) int {
		if n := at[step.ID]; n >= 0 {
			return n
		}
		return len(s.Phases) // those of none last
	}
	slices.SortStableFunc(p.Steps, func(a, b plan.PlannedStep) int { return place(a) - place(b) })
	return none
}

// books puts what weft writes into its own ledgers where the device is first
// touched, or, where that comes after the rest, where it is last touched.
func (s *Spec) books(p *plan.Plan, at map[plan.ID]int) {
	first, last := map[string]int{}, map[string]int{}
	after := map[plan.ID]bool{}
	for _, step := range p.Steps {
		if step.ID.Kind == plan.LedgerKind {
			_, seen := first[step.ID.Device]
			after[step.ID] = seen || len(step.Needs) > 0
			continue
		}
		n := at[step.ID]
		if n < 0 {
			continue
		}
		if k, seen := first[step.ID.Device]; !seen || n < k {
			first[step.ID.Device] = n
		}
		last[step.ID.Device] = max(last[step.ID.Device], n)
	}
	for _, step := range p.Steps {
		if step.ID.Kind != plan.LedgerKind {
			continue
		}
		n, touched := first[step.ID.Device]
		if after[step.ID] {
			n = last[step.ID.Device]
		}
		if !touched { // only the books are behind: with the last phase
			n = at[step.ID]
		}
		for _, need := range step.Needs {
			n = max(n, at[need])
		}
		at[step.ID] = n
	}
}

// Irreversible lists the steps that a rollback could not revert.
func (s *Spec) Irreversible(p *plan.Plan) []plan.PlannedStep {
	if s.AcceptNoUndo || s.OnFailure == Pause {
		return nil
	}
	var list []plan.PlannedStep
	for _, step := range p.Steps {
		phase := func(p Phase) bool { return p.Name == step.Phase }
		if slices.ContainsFunc(s.Phases, phase) && len(step.Undo) == 0 && step.ID.Kind != plan.LedgerKind {
			list = append(list, step)
		}
	}
	return list
}

// steps are those of a phase, in the order of the plan.
func (s *Spec) steps(p *plan.Plan, phase string) []plan.PlannedStep {
	return slices.DeleteFunc(slices.Clone(p.Steps), func(step plan.PlannedStep) bool { return step.Phase != phase })
}
