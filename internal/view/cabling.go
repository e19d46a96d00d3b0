package view

import (
	"fmt"
	"io"

	"weft/internal/prove"
)

// Cabling shows who is plugged in where, and what would mend it.
func Cabling(w io.Writer, c *prove.Cabling, s Style) {
	marks := map[prove.Verdict]string{prove.Pass: s.dress(green, "✓"), prove.Fail: s.dress(red, "✗"), prove.Inconclusive: s.dress(yellow, "?")}
	for _, x := range c.Cables {
		fmt.Fprintf(w, "  %s %s %s  %s", marks[x.Verdict], pad(x.Switch, 16), pad(x.Port, 18), x.Wants)
		if x.Why != "" {
			fmt.Fprintf(w, ": %s", x.Why)
		}
		if x.Verdict != prove.Pass && x.Hears != "" {
			fmt.Fprintf(w, ": %s", x.Hears)
		}
		fmt.Fprintln(w)
	}
	for _, swap := range c.Swaps {
		fmt.Fprintf(w, "\n  %s", s.dress(bold, swap))
	}
	if len(c.Swaps) > 0 {
		fmt.Fprintln(w)
	}
	fmt.Fprintf(w, "\n%s\n", s.dress(bold, "verdict: "+string(c.Verdict)))
}
