package view

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/hashicorp/hcl/v2"
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
	for i, d := range diags {
		if i == maxProblems {
			_, err := fmt.Fprintf(w, "%d more problems are not shown.\n", len(diags)-i)
			return err
		}
		if _, err := io.WriteString(w, diagnostic(s, files, d)); err != nil {
			return err
		}
	}
	return nil
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
		b.WriteString(wrap(d.Detail, detailWidth) + "\n\n")
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

// wrap breaks lines at spaces so that they have at most width characters where
// that is possible.
func wrap(text string, width int) string {
	var b strings.Builder
	for i, line := range strings.Split(text, "\n") {
		if i > 0 {
			b.WriteByte('\n')
		}
		length := 0
		for j, word := range strings.Split(line, " ") {
			n := utf8.RuneCountInString(word)
			switch {
			case j == 0:
			case length+1+n > width && length > 0:
				b.WriteByte('\n')
				length = 0
			default:
				b.WriteByte(' ')
				length++
			}
			b.WriteString(word)
			length += n
		}
	}
	return b.String()
}
