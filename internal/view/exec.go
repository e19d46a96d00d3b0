package view

import (
	"fmt"
	"io"

	"weft/internal/slice"
	"weft/internal/text"
)

// A Ran is a command on one device, and what came of it.
type Ran struct {
	Device         string
	Code           int // exit status
	Stdout, Stderr []byte
	Error          string // why it did not run to its end; "": it did
	Hint           string // "": none
}

// ok reports whether the command did what it was asked to.
func (r Ran) ok() bool { return r.Error == "" && r.Code == 0 }

// Exec shows what a command printed, once for all devices on which it printed
// the same, and the count of how it ended.
func Exec(w io.Writer, list []Ran, s Style) {
	key := func(r Ran) string {
		return fmt.Sprintf("%d\x00%s\x00%s\x00%s\x00%s", r.Code, r.Error, r.Hint, r.Stdout, r.Stderr)
	}
	good, bad, lost := 0, 0, 0
	for _, group := range slice.Group(list, key) {
		r := group[0]
		who := names(group, func(r Ran) string { return r.Device })
		if len(group) > 1 {
			who = fmt.Sprintf("%d: %s", len(group), who)
		}
		switch {
		case r.ok():
			good += len(group)
			fmt.Fprintf(w, "%s %s\n", s.dress(green, "✓"), s.dress(bold, who))
		case r.Error != "":
			lost += len(group)
			fmt.Fprintf(w, "%s %s  %s\n", s.dress(red, "✗"), s.dress(bold, who), r.Error)
		default:
			bad += len(group)
			fmt.Fprintf(w, "%s %s  exit %d\n", s.dress(red, "✗"), s.dress(bold, who), r.Code)
		}
		for _, line := range linesOf(r.Stdout) {
			fmt.Fprintf(w, "    %s\n", line)
		}
		for _, line := range linesOf(r.Stderr) {
			fmt.Fprintf(w, "  %s %s\n", s.dress(yellow, "!"), line)
		}
		adviceLine(w, r.Hint)
	}
	sum := fmt.Sprintf("%s: %d done", text.Count(len(list), "device", "devices"), good)
	if bad > 0 {
		sum += fmt.Sprintf(", %d with another exit status", bad)
	}
	if lost > 0 {
		sum += fmt.Sprintf(", %d not run to the end", lost)
	}
	fmt.Fprintf(w, "\n%s\n", s.dress(bold, sum+"."))
}
