package view

import (
	"cmp"
	"fmt"
	"io"

	"weft/plan"
)

// restarts says which devices need a restart for the steps of a phase, and who does it.
func restarts(w io.Writer, p *plan.Plan, phase string, s Style) {
	var through []string // who empties hosts, in the order of the plan
	rolling := map[string][]string{}
	var needed []string
	for _, r := range p.Restarts {
		switch {
		case r.Phase != phase:
		case !r.Rolling:
			needed = append(needed, r.Device)
		default:
			if rolling[r.Through] == nil {
				through = append(through, r.Through)
			}
			rolling[r.Through] = append(rolling[r.Through], r.Device)
		}
	}
	for _, by := range through {
		how := map[string]string{"": "through the vCenter that has it, else by itself", "itself": "by itself"}[by]
		how = cmp.Or(how, "through "+by)
		fmt.Fprintf(w, "  %s\n", s.dress(yellow, fmt.Sprintf("restarted before the gate, one after another: %s; each is emptied by maintenance mode (%s), restarted, waited for and filled again", few(rolling[by]), how)))
	}
	if needed != nil {
		where := "a phase of a rollout"
		if phase != "" {
			where = "phase " + phase
		}
		fmt.Fprintf(w, "  %s\n", s.dress(yellow, fmt.Sprintf(`in force from the next start of %s, and apply restarts nothing: weft verify reboot does it afterwards, or restart = "rolling" in %s`, few(needed), where)))
	}
}
