package inventory

import (
	"time"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
)

// A Validation is a set of checks that gates and verify use.
type Validation struct {
	Block
	Name    string
	Probe   string // nvme-read, or "" for counters only
	Pairs   string
	Sizes   []int // bytes
	Samples int
	Metrics []*Metric
}

// A Metric is one limit of a validation.
type Metric struct {
	Block
	Name       string
	Source     string
	Size       int // bytes; 0: every size
	Unit       string
	Max        float64 // limit; nanoseconds when Duration
	HasMax     bool
	Duration   bool // Max was written as a duration
	Delta      bool
	Limit      hcl.Expression // max where it uses observed values: Model.LimitOf gives it; nil: Max holds
	Regression float64        // share, 0.1 for "10%"; 0: not judged

	limitType cty.Type // of Limit, as far as it is known
}

// A Rollout is an order of phases.
type Rollout struct {
	Block
	Name           string
	MaxUnavailable int
	MaxFailures    int
	OnFailure      string
	AcceptNoUndo   bool
	Phases         []*Phase
}

// A Phase is one part of a rollout.
type Phase struct {
	Block
	Name      string
	Select    []string // HCL addresses of instances, in the order of the model
	Remaining bool     // select = "remaining"
	Batch     []string
	Record    []*Validation
	Gate      []*Validation
	Soak      time.Duration
	Approve   string // "", manual or none
	Window    Window // when a batch of it may begin
}

// A Check is evaluated after facts or verify.
type Check struct {
	Block
	Name    string
	Asserts []Assert
}

// An Assert is one condition of a check; both expressions may use observed
// values.
type Assert struct {
	Condition, ErrorMessage hcl.Expression
}

// A Removed says what becomes of something that is not declared any more.
type Removed struct {
	Block
	From string // address of a block, all of its instances or a module
	Mode string // prune: what weft created goes; forget: it stays, and is weft's no more
}

// An Output is shown after facts or verify; it may use observed values.
type Output struct {
	Block
	Name      string
	Value     hcl.Expression
	Sensitive bool
}
