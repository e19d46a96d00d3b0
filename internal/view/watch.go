package view

import (
	"fmt"
	"io"
	"time"

	"weft/internal/prove"
)

// Watch shows one look at the fabric; with wipe it takes the place of the one
// before.
func Watch(w io.Writer, r *prove.Result, at time.Time, s Style, wipe bool) {
	if wipe {
		fmt.Fprint(w, s.order("[H"), s.order("[2J"))
	}
	fmt.Fprintf(w, "%s\n", s.dress(bold, at.Format(time.TimeOnly)))
	judgements(w, s, r)
	concluded(w, s, r)
	fmt.Fprintln(w)
}
