package view

import (
	"fmt"
	"io"

	"weft/internal/prove"
)

// Schedule shows what is measured at the same time.
func Schedule(w io.Writer, rounds []prove.Round, s Style) {
	flows := 0
	for n, r := range rounds {
		flows += len(r)
		fmt.Fprintln(w, s.dress(bold, fmt.Sprintf("round %d", n+1)))
		for _, flow := range r {
			fmt.Fprintln(w, "  "+flow)
		}
	}
	fmt.Fprintf(w, "\n%s in %s: no server carries two at a time\n", count(flows, "flow", "flows"), count(len(rounds), "round", "rounds"))
}
