package view

import (
	"fmt"
	"io"
	"strings"

	"weft/internal/prove"
	"weft/internal/text"
	"weft/plan"
	"weft/plan/rollout"
)

// Rollout shows how far a rollout has come: its phases, what each has carried
// out, and the last verdict of its gate. atWork says who goes on with it just now.
func Rollout(w io.Writer, r *rollout.Run, p *plan.Plan, atWork string, s Style) {
	fmt.Fprintln(w)
	Heading(w, s, "rollout", p.Owner, r.Simulated)
	for _, phase := range r.Phases {
		all := 0
		for _, step := range p.Steps {
			if step.Phase == phase.Name {
				all++
			}
		}
		fmt.Fprintf(w, "  %s %s %s", s.phase(phase.State), text.Pad(phase.Name, 16), text.Pad(string(phase.State), 12))
		if all > 0 {
			fmt.Fprintf(w, " %d of %s", len(phase.Steps), text.Count(all, "step", "steps"))
		}
		if phase.State == rollout.Soaking && !phase.Until.IsZero() {
			fmt.Fprintf(w, " until %s", phase.Until.Local().Format("2006-01-02 15:04:05 MST"))
		}
		fmt.Fprintln(w)
		if phase.Restarting != "" {
			fmt.Fprintf(w, "      %s is being restarted, or was when that was cut off\n", phase.Restarting)
		}
		if len(phase.Restarted) > 0 {
			fmt.Fprintf(w, "      restarted: %s\n", few(phase.Restarted))
		}
		if phase.Approved != "" {
			fmt.Fprintf(w, "      approved by %s\n", phase.Approved)
		}
		samples(w, phase.Verdicts, s)
	}
	fmt.Fprintf(w, "\n%s\n", s.dress(bold, State(r, atWork)))
}

// samples shows the verdicts of a phase, those that repeat as one.
func samples(w io.Writer, list []rollout.Sample, s Style) {
	for i := 0; i < len(list); {
		v, n := list[i], 0
		for ; i < len(list) && list[i].Verdict == v.Verdict && list[i].Recorded == v.Recorded && list[i].Why == v.Why; i++ {
			n++
		}
		text := string(v.Verdict)
		if v.Recorded {
			text = "recorded: " + text
		}
		fmt.Fprintf(w, "      %s %s %s", s.verdict(v), text, s.dress(faint, strings.Join(v.Validations, ", ")))
		if n > 1 {
			fmt.Fprintf(w, ", %d times", n)
		}
		if v.Why != "" {
			fmt.Fprintf(w, ": %s", v.Why)
		}
		fmt.Fprintln(w)
	}
}

func (s Style) verdict(v rollout.Sample) string {
	if v.Recorded && v.Verdict != rollout.Pass {
		return s.dress(faint, "·")
	}
	return s.sign(prove.Verdict(v.Verdict))
}

func (s Style) phase(state rollout.State) string {
	switch state {
	case rollout.Passed:
		return s.dress(green, "✓")
	case rollout.RolledBack:
		return s.dress(yellow, "↩")
	case rollout.Failed, rollout.Reversing:
		return s.dress(red, "✗")
	case rollout.Pending:
		return s.dress(faint, "·")
	}
	return s.dress(yellow, "…")
}

// State is a run in one line.
func State(r *rollout.Run, atWork string) string {
	switch r.State {
	case rollout.Passed:
		return "Rolled out: every phase is applied and proven."
	case rollout.RolledBack:
		return "Rolled back and proven: " + r.Why + "."
	case rollout.Aborted:
		return "Ended, " + r.Why + ": devices stay as they are."
	case rollout.Running:
		if atWork != "" {
			return "Not at its end: " + atWork + "."
		}
		for _, p := range r.Phases {
			if len(p.Begun) > 0 {
				return fmt.Sprintf("Cut off while phase %q was carried out: weft rollout resume sees how far that came, and goes on.", p.Name)
			}
		}
		return "Not at its end: go on with weft rollout step."
	case rollout.Reversing:
		if atWork != "" {
			return "Not reverted yet: " + atWork + "."
		}
		return "Interrupted while it was reverted: weft rollout resume goes on with that."
	}
	return strings.ToUpper(string(r.State[:1])) + string(r.State[1:]) + ": " + r.Why + "."
}

// Judged is one judgement in a line.
func Judged(j prove.Judgement) string {
	text := fmt.Sprintf("%s.%s of %s: %s", j.Validation, j.Metric, j.Pair, reason(j))
	if j.Measured() && j.Excess() > 0 && (j.Interval == nil || j.Why == "") {
		text += ", " + limit(j)
	}
	return text
}
