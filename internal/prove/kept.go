package prove

import (
	"time"

	"weft/internal/metric"
)

// A Look is one look at a phase that soaks: of each metric the worst value.
type Look struct {
	Phase    string             `json:"phase"`
	Time     time.Time          `json:"time"`
	Recorded bool               `json:"recorded,omitempty"`
	Files    string             `json:"files,omitempty"` // sum of what the files said
	Verdict  Verdict            `json:"verdict"`
	Worst    map[string]float64 `json:"worst"` // by VALIDATION.METRIC

	// Verdicts are those of metrics that have not passed, by VALIDATION.METRIC.
	Verdicts map[string]Verdict `json:"verdicts,omitempty"`
}

// A Threshold is a limit and where it comes from.
type Threshold struct {
	Validation string  `json:"validation"`
	Metric     string  `json:"metric"`
	Size       int     `json:"size,omitempty"`   // bytes
	Probe      string  `json:"probe,omitempty"`  // verbs or socket; "": reads, or a counter
	Source     string  `json:"source,omitempty"` // of a counter
	Unit       string  `json:"unit,omitempty"`
	HasMax     bool    `json:"has_max"`
	Max        float64 `json:"max"` // nanoseconds where Duration
	HasMin     bool    `json:"has_min,omitempty"`
	Min        float64 `json:"min,omitempty"`
	Duration   bool    `json:"duration,omitempty"`
	Made       string  `json:"made,omitempty"`       // max as the files have it, where it uses observed values: Max is not known
	Regression float64 `json:"regression,omitempty"` // share
	Place      string  `json:"place"`                // file:line
}

// Measure is what is limited; none where it is a counter.
func (t Threshold) Measure() metric.ID {
	if t.Source != "" {
		return metric.ID{}
	}
	id, _ := metric.Parse(t.Metric)
	return id
}
