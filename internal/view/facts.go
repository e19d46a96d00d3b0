package view

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"
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
	for _, l := range alike(lost, func(l Lost) string { return l.Text + "\x00" + l.Hint }) {
		fmt.Fprintf(w, "  %s %s  %s\n", s.dress(red, "✗"), names(l.of, func(l Lost) string { return l.Device }), l.of[0].Text)
		adviceLine(w, l.of[0].Hint)
	}
}

// Remarks shows what is said of devices. What several have in common is said once.
func Remarks(w io.Writer, remarks []Remark, s Style) {
	for _, r := range alike(remarks, func(r Remark) string { return r.Text }) {
		mark := s.dress(yellow, "!")
		if r.of[0].Refuses {
			mark = s.dress(red, "✗")
		}
		fmt.Fprintf(w, "  %s %s  %s\n", mark, names(r.of, func(r Remark) string { return r.Device }), r.text)
		adviceLine(w, r.of[0].Hint)
	}
}

func adviceLine(w io.Writer, hint string) {
	if hint != "" {
		fmt.Fprintf(w, "      hint: %s\n", hint)
	}
}

// A bunch is things that say the same.
type bunch[T any] struct {
	text string
	of   []T
}

// alike puts together what says the same, in the order of the first of each.
func alike[T any](list []T, text func(T) string) []bunch[T] {
	var out []bunch[T]
	at := map[string]int{}
	for _, x := range list {
		key := text(x)
		i, seen := at[key]
		if !seen {
			i = len(out)
			at[key] = i
			out = append(out, bunch[T]{text: key})
		}
		out[i].of = append(out[i].of, x)
	}
	return out
}

func names[T any](list []T, name func(T) string) string {
	all := make([]string, len(list))
	for i, x := range list {
		all[i] = name(x)
	}
	return few(slices.Compact(all))
}

// show prints the table with aligned columns; one that is empty everywhere is
// left out.
func (t Table) show(w io.Writer, s Style) {
	widths := make([]int, len(t.Head))
	for _, row := range t.Rows {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	line := func(cells []string) string {
		var kept []string
		for i, cell := range cells {
			if widths[i] > 0 {
				kept = append(kept, pad(orNothing(cell), max(widths[i], utf8.RuneCountInString(t.Head[i]))))
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
