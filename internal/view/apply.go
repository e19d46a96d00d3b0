package view

import (
	"fmt"
	"io"
	"time"

	"weft/plan"
)

// Applied shows what became of every device.
func Applied(w io.Writer, r *plan.Result, s Style, took time.Duration) {
	counts := map[plan.DeviceOutcome]int{}
	for _, d := range r.Devices {
		counts[d.Outcome]++
	}
	fmt.Fprintln(w)
	for _, d := range r.Devices {
		mark := s.dress(green, "✓")
		switch d.Outcome {
		case plan.DeviceRolledBack:
			mark = s.dress(yellow, "↩")
		case plan.DeviceUnknown, plan.DeviceUnreachable:
			mark = s.dress(red, "✗")
		}
		done := 0
		for _, step := range d.Steps {
			if step.Outcome == plan.StepDone {
				done++
			}
		}
		fmt.Fprintf(w, "  %s %s  %s", mark, d.Device, d.Outcome)
		if done > 0 {
			fmt.Fprintf(w, ", %s", count(done, "change", "changes"))
		}
		fmt.Fprintln(w)
		if d.Err != nil {
			fmt.Fprintf(w, "      %v\n", d.Err)
		}
		for _, step := range d.Steps {
			if step.Err != nil && step.Err != d.Err {
				fmt.Fprintf(w, "      %s %s: %v\n", step.ID, step.Outcome, step.Err)
			}
		}
	}
	fmt.Fprintf(w, "\n%s\n", s.dress(bold, fmt.Sprintf("%s in %s: %d changed, %d unchanged, %d rolled back, %d unknown.",
		outcome(r.Outcome()), took.Round(100*time.Millisecond), counts[plan.DeviceChanged], counts[plan.DeviceUnchanged],
		counts[plan.DeviceRolledBack], counts[plan.DeviceUnknown])))
}

func outcome(o plan.RunOutcome) string {
	switch o {
	case plan.RunDone:
		return "Applied"
	case plan.RunNothingChanged:
		return "Not applied, nothing was changed,"
	case plan.RunRolledBack:
		return "Not applied, everything was put back and proven,"
	}
	return "Not applied in full"
}
