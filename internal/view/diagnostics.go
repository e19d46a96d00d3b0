package view

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/hashicorp/hcl/v2"

	"weft/internal/findings"
	"weft/internal/slice"
	"weft/inventory/problem"
)

const (
	maxProblems     = 1000 // shown as text; --json has them all
	maxSnippetLines = 12   // of one problem
	maxSnippetLine  = 240  // bytes of one line, about
	detailWidth     = 100  // characters
)

// Diagnostics writes what is wrong with files for people: what it is, where,
// the lines themselves and the explanation. What it takes grows with the number
// of problems, however long the files and their lines are.
func Diagnostics(w io.Writer, s Style, files map[string]*hcl.File, diags hcl.Diagnostics) error {
	shown := 0
	for i, p := range alike(s, diags) {
		if i == maxProblems {
			_, err := fmt.Fprintf(w, "%d more problems are not shown.\n", len(diags)-shown)
			return err
		}
		shown += 1 + len(p.also)
		if _, err := io.WriteString(w, diagnostic(s, files, p.Diagnostic)+p.others()); err != nil {
			return err
		}
	}
	return nil
}

// A repeatedProblem is a problem, and those that are alike, which are not shown in full.
type repeatedProblem struct {
	*hcl.Diagnostic
	also hcl.Diagnostics
}

// alike puts problems together that have one summary, where there are more than a few.
func alike(s Style, diags hcl.Diagnostics) (out []repeatedProblem) {
	summary := func(d *hcl.Diagnostic) string { return fmt.Sprint(d.Severity, s.Names.Without(d.Summary)) }
	many := map[string]int{}
	for _, d := range diags {
		many[summary(d)] += 1 + unlisted(d)
	}
	at := map[string]int{}
	for _, d := range diags {
		key := summary(d)
		if i, ok := at[key]; ok && many[key] > mostSingle && !s.Verbose {
			out[i].also = append(out[i].also, d)
			continue
		}
		at[key] = len(out)
		out = append(out, repeatedProblem{d, nil})
	}
	return out
}

func lineOf(d *hcl.Diagnostic) string {
	if d.Subject == nil {
		return ""
	}
	return Place(*d.Subject)
}

// others says where else a problem is.
func (p repeatedProblem) others() string {
	if len(p.also) == 0 {
		return ""
	}
	n := unlisted(p.Diagnostic)
	for _, d := range p.also {
		n += 1 + unlisted(d)
	}
	text := fmt.Sprintf("%d more like this (see --verbose): %s", n, findings.Fold(slice.Map(p.also, lineOf), mostPlaces))
	return findings.Wrap(text, detailWidth, "") + "\n\n"
}

// unlisted is how many problems like this one the language counted only.
func unlisted(d *hcl.Diagnostic) int {
	more, _ := hcl.DiagnosticExtra[problem.Alike](d)
	return more.More
}

func diagnostic(s Style, files map[string]*hcl.File, d *hcl.Diagnostic) string {
	var b strings.Builder
	severity := s.dress(red, "Error")
	if d.Severity == hcl.DiagWarning {
		severity = s.dress(yellow, "Warning")
	}
	fmt.Fprintf(&b, "%s: %s\n\n", severity, d.Summary)
	switch file := subject(files, d); {
	case d.Subject == nil, d.Subject.Filename == ".":
	case file == nil: // it could not be read, or is away by now
		fmt.Fprintf(&b, "  on %s\n\n", position(d))
	default:
		fmt.Fprintf(&b, "  on %s%s:\n", position(d), BlockAround(file, d.Subject.Start.Byte))
		snippet(&b, s, file.Bytes, d)
		b.WriteByte('\n')
	}
	if d.Detail != "" {
		b.WriteString(findings.Wrap(d.Detail, detailWidth, "") + "\n\n")
	}
	return b.String()
}

// subject is the file that a problem is about; nil: there is no text of it.
func subject(files map[string]*hcl.File, d *hcl.Diagnostic) *hcl.File {
	if d.Subject == nil || files[d.Subject.Filename] == nil || files[d.Subject.Filename].Bytes == nil {
		return nil
	}
	return files[d.Subject.Filename]
}

// position is where a problem is, without a line where it is about a whole file.
func position(d *hcl.Diagnostic) string {
	if d.Subject.Start.Byte == 0 && d.Subject.End.Byte == 0 {
		return d.Subject.Filename
	}
	return fmt.Sprintf("%s line %d", d.Subject.Filename, d.Subject.Start.Line)
}

// BlockAround names the block in which an offset of a file lies, after a comma.
func BlockAround(file *hcl.File, offset int) string {
	if file == nil {
		return ""
	}
	if nav, ok := file.Nav.(interface{ ContextString(offset int) string }); ok {
		if name := nav.ContextString(offset); name != "" {
			return ", in " + name
		}
	}
	return ""
}

// snippet writes the lines that a problem is about, and those around it where
// they are few.
func snippet(b *strings.Builder, s Style, src []byte, d *hcl.Diagnostic) {
	shown, marked := *d.Subject, *d.Subject
	if c := d.Context; c != nil {
		if all := hcl.RangeOver(shown, *c); all.End.Line-all.Start.Line < maxSnippetLines {
			shown = all
		}
	}
	start := min(max(shown.Start.Byte, 0), len(src))
	start = bytes.LastIndexByte(src[:start], '\n') + 1
	end := max(shown.End.Byte, shown.Start.Byte+1)
	for n := range maxSnippetLines {
		if start >= len(src) || start >= end {
			return
		}
		line, _, _ := bytes.Cut(src[start:], []byte("\n"))
		from := min(max(marked.Start.Byte-start, 0), len(line))
		to := min(max(marked.End.Byte-start, from), len(line))
		fmt.Fprintf(b, "%4d: %s\n", shown.Start.Line+n, marking(s, line, from, to))
		start += len(line) + 1
	}
	if start < end {
		b.WriteString("      …\n")
	}
}

// marking is a line with a part of it marked, and only what is near to that
// part where the line is long.
func marking(s Style, line []byte, from, to int) string {
	before, marked, after := line[:from], line[from:to], bytes.TrimSuffix(line[to:], []byte("\r"))
	if len(line) <= maxSnippetLine {
		return string(before) + s.dress(underlined, string(marked)) + string(after)
	}
	text := ""
	if n := len(before) - maxSnippetLine/3; n > 0 {
		text, before = "…", fromRune(before[n:])
	}
	text += string(before)
	if len(marked) > maxSnippetLine/3 {
		return text + s.dress(underlined, string(toRune(marked[:maxSnippetLine/3]))) + "…"
	}
	text += s.dress(underlined, string(marked))
	if len(after) > maxSnippetLine/3 {
		return text + string(toRune(after[:maxSnippetLine/3])) + "…"
	}
	return text + string(after)
}

// fromRune starts a cut text with a whole character.
func fromRune(text []byte) []byte {
	for len(text) > 0 && !utf8.RuneStart(text[0]) {
		text = text[1:]
	}
	return text
}

// toRune ends a cut text with a whole character.
func toRune(text []byte) []byte {
	for i := 1; i < utf8.UTFMax && i <= len(text); i++ {
		if tail := text[len(text)-i:]; utf8.RuneStart(tail[0]) {
			if !utf8.FullRune(tail) {
				return text[:len(text)-i]
			}
			break
		}
	}
	return text
}
