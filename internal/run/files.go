package run

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"

	"weft/internal/prove"
	"weft/internal/view"
	"weft/inventory"
)

// SumOf is a sum of what the files of a model say, with the variables that are not
// secret.
func SumOf(m *inventory.Model) string {
	h := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(m.Sources)) {
		fmt.Fprintf(h, "%q %q\n", name, m.Sources[name])
	}
	for _, name := range slices.Sorted(maps.Keys(m.Inputs)) {
		fmt.Fprintf(h, "%q %s\n", name, m.Inputs[name])
	}
	return hex.EncodeToString(h.Sum(nil))
}

// Thresholds are the limits that the files set, with their places.
func Thresholds(m *inventory.Model) []prove.Threshold {
	var out []prove.Threshold
	for _, v := range m.Validations {
		for _, x := range v.Metrics {
			probe := v.Probe
			if probe == "nvme-read" || x.Source != "" {
				probe = ""
			}
			out = append(out, prove.Threshold{Probe: probe, Validation: v.Name, Metric: x.Name, Size: x.Size, Source: x.Source, Unit: x.Unit, HasMax: x.HasMax, Max: x.Max, HasMin: x.HasMin, Min: x.Min,
				Duration: x.Duration, Made: made(m, x), Regression: x.Regression, Place: view.Place(x.Range)})
		}
	}
	return out
}

// made is the text of a limit that uses observed values.
func made(m *inventory.Model, x *inventory.Metric) string {
	if x.Limit == nil {
		return ""
	}
	at := x.Limit.Range()
	return string(at.SliceBytes(m.Sources[at.Filename]))
}
