package inventory

import "github.com/hashicorp/hcl/v2"

// A Policy is a rule that each change of a plan is held against.
type Policy struct {
	Block
	Name      string
	When      hcl.Expression // which changes it is about; nil: all
	Condition hcl.Expression // true for what is allowed
	Message   hcl.Expression
}

// A PolicyChange is what the expressions of a Policy see: change and phase.
type PolicyChange struct {
	Address, Device, Kind, Name, Impact, Plane string
	Prune, Drift, Reversible                   bool

	Before, After map[string]string // by attribute

	Phase, Window, Approve, Soak string // of the phase of the rollout; "": none
	Gates                        []string
}
