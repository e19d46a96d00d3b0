package view

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"weft/internal/hint"
	"weft/internal/text"
	"weft/plan"
)

// Applied shows what became of every device, or of a plan that was stale what
// changed under it.
func Applied(w io.Writer, p *plan.Plan, r *plan.Result, s Style, took time.Duration) {
	counts := map[plan.DeviceOutcome]int{}
	for _, d := range r.Devices {
		counts[d.Outcome]++
	}
	fmt.Fprintln(w)
	Heading(w, s, "apply", p.Owner, p.Simulated)
	var stale *plan.StaleError
	if errors.As(r.Err(), &stale) {
		moved(w, stale.Moved, s)
	} else {
		appliedDevices(w, p, r, s)
	}
	fmt.Fprintf(w, "\n%s\n", s.dress(bold, fmt.Sprintf("%s in %s: %d changed, %d unchanged, %d rolled back, %d unknown.",
		outcome(r.Outcome()), took.Round(100*time.Millisecond), counts[plan.DeviceChanged], counts[plan.DeviceUnchanged],
		counts[plan.DeviceRolledBack], counts[plan.DeviceUnknown])))
}

// moved shows what changed under a plan.
func moved(w io.Writer, list []plan.Moved, s Style) {
	fmt.Fprintf(w, "%s\n", s.dress(bold, "Changes since the plan"))
	for i, m := range list {
		if i == mostShown && len(list) > mostShown+1 {
			fmt.Fprintf(w, "  and %d more; --json has all\n", len(list)-i)
			return
		}
		if i == 0 || m.ID != list[i-1].ID {
			fmt.Fprintf(w, "  %s  %s\n", s.dress(bold, m.ID.String()), s.dress(faint, Place(m.Range)))
		}
		if m.Path == "" {
			fmt.Fprintf(w, "    %s\n", m.Why)
			continue
		}
		fmt.Fprintf(w, "    %s  %s → %s  %s\n", m.Path, orNothing(m.Planned), orNothing(m.Now), s.dress(faint, m.Why))
	}
}

// appliedDevices shows what became of each device.
func appliedDevices(w io.Writer, p *plan.Plan, r *plan.Result, s Style) {
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
			fmt.Fprintf(w, ", %s", text.Count(done, "change", "changes"))
		}
		fmt.Fprintln(w)
		if d.Err != nil {
			failure(w, p, d)
		}
	}
}

func outcome(o plan.RunOutcome) string {
	return cmp.Or(map[plan.RunOutcome]string{
		plan.RunDone:           "Applied",
		plan.RunLeftOut:        "Applied to the devices that can be reached",
		plan.RunNothingChanged: "Not applied, nothing was changed,",
		plan.RunRolledBack:     "Not applied: everything was reverted and proven,",
	}[o], "Not applied in full")
}

// failure shows why a device is not as planned: the step, its line of HCL,
// what was sent and what came back.
func failure(w io.Writer, p *plan.Plan, d plan.DeviceResult) {
	fmt.Fprintf(w, "      %v\n", d.Err)
	if at, ok := declared(p, d); ok {
		fmt.Fprintf(w, "      declared  %s\n", at)
	}
	var no *plan.RefusedError
	if errors.As(d.Err, &no) {
		fmt.Fprintf(w, "      sent      %s\n", no.Line)
		for i, line := range strings.Split(strings.TrimRight(no.Reply, "\r\n "), "\n") {
			head := "          "
			if i == 0 {
				head = "answered  "
			}
			fmt.Fprintf(w, "      %s%s\n", head, strings.TrimRight(line, "\r"))
		}
	}
	if h := hint.Of(d.Err); h != "" {
		fmt.Fprintf(w, "      hint      %s\n", h)
	}
}

// declared is where the step that failed was written; for a line that the
// whole device refused, its first step. What was only skipped has no place.
func declared(p *plan.Plan, d plan.DeviceResult) (string, bool) {
	blame := slices.IndexFunc(d.Steps, func(s plan.StepResult) bool {
		return s.Outcome == plan.StepFailed || s.Outcome == plan.StepFailedVerify
	})
	if no := new(*plan.RefusedError); blame < 0 && len(d.Steps) > 0 && errors.As(d.Err, no) {
		blame = 0
	}
	if blame < 0 {
		return "", false
	}
	i := slices.IndexFunc(p.Steps, func(s plan.PlannedStep) bool { return s.ID == d.Steps[blame].ID })
	return Place(p.Steps[i].Range), true
}
