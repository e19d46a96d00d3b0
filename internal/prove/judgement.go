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

// Measured reports whether Value and Limit say something. What holds or does not
// hold, such as the way of packets, has a verdict and a reason only.
func (j Judgement) Measured() bool { return j.Validation != pathName && j.Validation != AsApplied }

// AsApplied is what judgements about what a run has set stand under.
const AsApplied = "as-applied"
