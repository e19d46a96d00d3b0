package view

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"weft/internal/findings"
	"weft/internal/slice"
	"weft/internal/text"
)

// A Table is rows under a head.
type Table struct {
	Head []string
	Rows [][]string
}

// A Remark is what speaks against the files on one device.
type Remark struct {
	Device  string
	Text    string
	Hint    string // "": none
	Refuses bool   // the plan; else it only warns
}

// A Lost device did not answer.
type Lost struct {
	Device string
	Text   string
	Hint   string // "": none
}

// Facts shows tables of what devices say of themselves, then what of it speaks
// against the files, then who did not answer. What several devices have in
// common is said once.
func Facts(w io.Writer, tables []Table, remarks []Remark, lost []Lost, s Style) {
	first := true
	for _, t := range tables {
		if len(t.Rows) == 0 {
			continue
		}
		if !first {
			fmt.Fprintln(w)
		}
		first = false
		t.show(w, s)
	}
	if len(remarks) > 0 {
		fmt.Fprintf(w, "\n%s\n", s.dress(bold, "Against the files"))
	}
	Remarks(w, remarks, s)
	if len(lost) > 0 {
		fmt.Fprintf(w, "\n%s\n", s.dress(bold, "Not reached"))
	}
	NotReached(w, lost, "  ", s)
}

// NotReached shows which devices did not answer and why, with words between the two. Devices
// with one reason are one entry.
func NotReached(w io.Writer, lost []Lost, words string, s Style) {
	if s.Verbose {
		for _, l := range lost {
			fmt.Fprintf(w, "  %s %s%s%s\n", s.dress(red, "✗"), l.Device, words, l.Text)
			adviceLine(w, l.Hint)
		}
		return
	}
	of := func(l Lost) findings.Finding {
		return findings.Finding{Cause: s.Names.Without(l.Hint), Text: l.Text, Place: findings.Place{Device: l.Device}}
	}
	for _, e := range findings.Group(lost, s.Names, of) {
		for _, v := range e.Variants {
			where := v.Where(mostPlaces)
			if n := len(v.All); n > mostPlaces {
				where = fmt.Sprintf("%d devices: %s", n, where)
			}
			fmt.Fprintf(w, "  %s %s%s%s\n", s.dress(red, "✗"), where, words, v.Text)
			if len(v.All) == 1 {
				adviceLine(w, v.All[0].Hint)
			} else {
				adviceLine(w, e.Cause)
			}
		}
	}
}

// mostPlaces is how many places of one cause are listed.
const mostPlaces = 6

// Remarks shows what is said of devices. What several have in common is said once.
func Remarks(w io.Writer, remarks []Remark, s Style) {
	for text, of := range slice.Group(remarks, func(r Remark) string { return r.Text }) {
		mark := s.dress(yellow, "!")
		if of[0].Refuses {
			mark = s.dress(red, "✗")
		}
		fmt.Fprintf(w, "  %s %s  %s\n", mark, names(of, func(r Remark) string { return r.Device }), text)
		adviceLine(w, of[0].Hint)
	}
}

func adviceLine(w io.Writer, hint string) {
	if hint != "" {
		fmt.Fprintf(w, "      hint: %s\n", hint)
	}
}

func names[T any](list []T, name func(T) string) string {
	return few(slices.Compact(slice.Map(list, name)))
}

// show prints the table with aligned columns; one that is empty everywhere is
// left out.
func (t Table) show(w io.Writer, s Style) {
	widths := make([]int, len(t.Head))
	for _, row := range t.Rows {
		for i, cell := range row {
			widths[i] = max(widths[i], text.Width(cell))
		}
	}
	line := func(cells []string) string {
		var kept []string
		for i, cell := range cells {
			if widths[i] > 0 {
				kept = append(kept, text.Pad(orNothing(cell), max(widths[i], text.Width(t.Head[i]))))
			}
		}
		return strings.TrimRight(strings.Join(kept, "  "), " ")
	}
	fmt.Fprintln(w, s.dress(bold, line(t.Head)))
	for _, row := range t.Rows {
		fmt.Fprintln(w, line(row))
	}
}

// linesOf is the output of a device as lines.
func linesOf(text []byte) []string {
	clean := strings.TrimRight(strings.ReplaceAll(string(text), "\r\n", "\n"), "\n")
	if clean == "" {
		return nil
	}
	return strings.Split(clean, "\n")
}
