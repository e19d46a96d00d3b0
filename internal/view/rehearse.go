package view

import (
	"fmt"
	"io"
	"strings"

	"weft/internal/prove"
	"weft/internal/text"
)

// Rehearsed says what a rehearsal has shown, and what it cannot show. twin is
// on what it went; applied says what was; unjudged are metrics without a verdict, missing
// are systems and devices that the files declare and gates could not measure.
func Rehearsed(w io.Writer, s Style, twin, applied string, unjudged, missing []string, real bool) {
	fmt.Fprintf(w, "\n%s\n\n", s.dress(bold, "Rehearsed on "+twin+"."))
	for _, shown := range []string{
		applied,
		"the second plan was empty",
		"everything was removed, and nothing of weft was left",
	} {
		fmt.Fprintf(w, "  %s %s\n", s.dress(green, "✓"), shown)
	}
	if len(missing) > 0 {
		fmt.Fprintf(w, "  %s not measured: %s; gates of the real rollout pause there, unless allow_unmeasured of a validation names it\n", s.sign(prove.Partial), text.List(missing, mostMissing))
	}
	fmt.Fprintf(w, "\nNot shown by a twin\n")
	if len(unjudged) > 0 {
		fmt.Fprintf(w, "  · %s: no verdict here\n", strings.Join(unjudged, ", "))
	}
	for _, hidden := range append(kernels(real),
		"the current state of devices: the rehearsal began in factory state",
		"real switches: their capacity, their version's own behaviour, how long they take",
		"cables, optics, firmware, and every figure of latency and throughput",
		"approvals, windows and soaks, which were not waited for") {
		fmt.Fprintf(w, "  · %s\n", hidden)
	}
	fmt.Fprintf(w, "\nThe real devices are next: weft plan\n")
}

func kernels(real bool) []string {
	if real {
		return []string{"cards with their drivers and firmware: guests did RDMA in software, and a STAND-IN kept what was set of data centre bridging and pause"}
	}
	return []string{"real kernels, drivers and RDMA: the servers were SIMULATED, and the agents spoke TCP"}
}
