package prove

import "time"

// A Judgement is one metric of one row held against its limit.
type Judgement struct {
	Validation string  `json:"validation"`
	Metric     string  `json:"metric"`
	Pair       string  `json:"pair"`
	Size       int     `json:"size,omitempty"`
	Verdict    Verdict `json:"verdict"`
	Value      float64 `json:"value"` // nanoseconds for latencies
	Limit      float64 `json:"limit"`
	Latency    bool    `json:"latency"` // Value and Limit are nanoseconds
	Why        string  `json:"why,omitempty"`

	Counted bool          `json:"counted,omitempty"` // Value is of a counter; Pair names its place
	Unit    string        `json:"unit,omitempty"`    // ratio: share of Over; Share, Times and GbitRate of what compares; "": a count
	Over    time.Duration `json:"over_ns,omitempty"` // between the readings
	Against time.Time     `json:"against,omitzero"`  // Limit comes from a baseline of that time
	Note    string        `json:"note,omitempty"`    // what else a reader must know
	Where   string        `json:"where,omitempty"`   // of a failure: at a place, or undecided between some

	Degraded string `json:"degraded,omitempty"` // of a pass: why something else stands in for what was declared, which the files allow

	unread bool // the device of a hop did not answer
	early  bool // a rollout has not come to some hop

	Absence
	// IDs are the checks of weft doctor that report the same; weft explain has a page of each.
	IDs     []string `json:"ids,omitempty"`
	Allowed string   `json:"allowed,omitempty"` // the name of allow_unmeasured that allows that it is not measured

	Least    bool      `json:"least,omitempty"`    // Limit is the least that Value may be, else the most
	Interval *Interval `json:"interval,omitempty"` // of Value; nil: it is the value of what was measured
}

// Excess is by how much the value is on the wrong side of its limit; below 0 it is on the
// right one.
func (j Judgement) Excess() float64 {
	if j.Least {
		return j.Limit - j.Value
	}
	return j.Value - j.Limit
}

// Weight is what the verdict of one place makes of the whole: a place that the files
// declare and that was not measured, which nobody allowed, leaves the whole partial.
func (j Judgement) Weight() Verdict {
	switch j.Verdict {
	case Pass, Fail, Partial, Inconclusive:
		return j.Verdict
	case NotMeasured:
		if j.Undeclared || j.Allowed != "" {
			return Pass
		}
		return Partial
	}
	return Inconclusive // as of a record of another version
}

// An Absence is why a place has no measurement.
type Absence struct {
	// Lacks are the names under which allow_unmeasured may allow it: the HCL address of the
	// device that could not be asked, then its system.
	Lacks  []string `json:"lacks,omitempty"`
	System string   `json:"system,omitempty"` // for people, where the system of the device is the reason
	// Undeclared: the files ask for no measurement there, as where a sample leaves a pair out
	// or a port has no watchdog that could count.
	Undeclared bool `json:"undeclared,omitempty"`
}

// Unmeasured is a place that the files declare and that could not be measured because of a
// device, such as an unmanaged switch. lacks are the names under which allow_unmeasured
// allows it: the HCL address of the device first, then its system.
func Unmeasured(validation, metric, place, why string, lacks ...string) Judgement {
	return Judgement{Validation: validation, Metric: metric, Pair: place, Verdict: NotMeasured, Why: why, Absence: Absence{Lacks: lacks}}
}

// Measured reports whether Value and Limit say something. What holds or does not
// hold, such as the way of packets, has a verdict and a reason only.
func (j Judgement) Measured() bool { return j.Validation != pathName && j.Validation != AsApplied }

// BuiltIn are the names under which weft judges what no validation declares.
func BuiltIn() []string {
	return []string{pathName, accounting, comparison, builtIn, AsApplied, readsName}
}

// readsName stands for reads that no validation limits.
const readsName = "reads"

// AsApplied is what judgements about what a run has set stand under.
const AsApplied = "as-applied"
