// Package view shows people and machines what a run does and what it found.
package view

import (
	"fmt"
	"io"
	"strings"
	"time"

	"weft/internal/findings"
	"weft/internal/text"
)

// A Style says how text is dressed. Colour is never the only sign.
type Style struct {
	Color   bool
	Verbose bool           // every finding is listed; else those with one cause are one entry
	Names   findings.Names // of devices and ports, which texts of findings repeat
	Width   int            // of the terminal, in characters; 0: none, and lines are not folded

	key string // by which a screen knows it as weft's
}

const (
	bold   = "1"
	faint  = "2"
	red    = "31"
	green  = "32"
	yellow = "33"
	cyan   = "36"

	underlined = "1;4"
)

func (s Style) dress(code, text string) string {
	if !s.Color || text == "" {
		return text
	}
	return s.order("["+code+"m") + text + s.order("[0m")
}

// folded breaks a line that is longer than the terminal is wide; what follows is indented more.
func (s Style) folded(line string) string {
	const indent = "          "
	if s.Width < 2*len(indent) || text.Width(line) <= s.Width {
		return line
	}
	rest := strings.TrimLeft(line, " ")
	before := line[:len(line)-len(rest)]
	return before + findings.Wrap(rest, s.Width-len(indent), indent)
}

// order is what a terminal is to obey.
func (s Style) order(sequence string) string { return "\x1b" + s.key + sequence }

// Duration shows a latency with three significant digits in the unit people
// compare it in.
func Duration(d time.Duration) string {
	switch {
	case d < 0:
		return "−" + Duration(-d)
	case d < time.Microsecond:
		return fmt.Sprintf("%d ns", d)
	case d < time.Millisecond:
		return digits(float64(d)/1e3) + " µs"
	case d < time.Second:
		return digits(float64(d)/1e6) + " ms"
	}
	return digits(d.Seconds()) + " s"
}

func digits(v float64) string {
	switch {
	case v < 9.995:
		return fmt.Sprintf("%.2f", v)
	case v < 99.95:
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.0f", v)
}

// Size shows a block size: 4 KiB, 512 B.
func Size(n int) string {
	switch {
	case n >= 1<<20 && n%(1<<20) == 0:
		return fmt.Sprintf("%d MiB", n>>20)
	case n >= 1<<10 && n%(1<<10) == 0:
		return fmt.Sprintf("%d KiB", n>>10)
	}
	return fmt.Sprintf("%d B", n)
}

// Heading says what follows, and whether it is of a real fabric or of weft's lab,
// in which servers may be guests with real kernels.
func Heading(w io.Writer, s Style, what, owner string, simulated bool) {
	text := what + " · " + owner
	if simulated {
		text += " · SIMULATED fabric of weft's lab"
	}
	fmt.Fprintf(w, "%s\n\n", s.dress(bold, text))
}
