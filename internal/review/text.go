// Package review writes plans, and what is wrong with files, for those who review
// changes on a forge: comments, annotations, and reports that forges read. Everything
// that comes from files or devices may be anybody's: it is shown, and does nothing.
package review

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxValue is how much of one value is shown, in bytes.
const maxValue = 400

// visible is text on one line without anything invisible in it: control characters,
// what turns the direction of text, and bytes that are no text are written out.
func visible(text string) string {
	var b strings.Builder
	for i, r := range text {
		switch {
		case r == utf8.RuneError && !strings.HasPrefix(text[i:], "\uFFFD"):
			fmt.Fprintf(&b, `\x%02x`, text[i])
		case r == '\n':
			b.WriteString("⏎")
		case r == ' ' || unicode.IsPrint(r):
			b.WriteRune(r)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}

// short is the beginning of a long text, which says how much of it there is.
func short(text string) string {
	if len(text) <= maxValue {
		return text
	}
	return fmt.Sprintf("%s… (%d bytes)", strings.ToValidUTF8(text[:maxValue], ""), len(text))
}

// code is text as a code span of Markdown, in which nothing is a link, an image, a
// mention or HTML: the span's quotes are longer than any in it.
func code(text string) string {
	text = short(visible(text))
	if strings.TrimSpace(text) == "" {
		return "–"
	}
	quotes := strings.Repeat("`", longest(text)+1)
	if strings.HasPrefix(text, "`") || strings.HasSuffix(text, "`") || strings.HasPrefix(text, " ") && strings.HasSuffix(text, " ") {
		text = " " + text + " "
	}
	return quotes + text + quotes
}

// fenced are lines as a block of code, each indented.
func fenced(indent string, lines []string) string {
	most := 2
	for i, l := range lines {
		lines[i] = short(visible(l))
		most = max(most, longest(l))
	}
	fence := indent + strings.Repeat("`", most+1) + "\n"
	var b strings.Builder
	b.WriteString(fence)
	for _, l := range lines {
		b.WriteString(indent + l + "\n")
	}
	return b.String() + fence
}

// longest is the length of the longest run of backticks.
func longest(text string) int {
	most, run := 0, 0
	for _, r := range text {
		if run++; r != '`' {
			run = 0
		}
		most = max(most, run)
	}
	return most
}

// html is text within an HTML tag of Markdown: every character that could mean
// anything is an entity, and <code> keeps forges from looking for names in it.
func html(text string) string {
	var b strings.Builder
	b.WriteString("<code>")
	for _, r := range short(visible(text)) {
		if r == ' ' || r == '-' || unicode.IsLetter(r) || unicode.IsDigit(r) {
			b.WriteRune(r)
		} else {
			fmt.Fprintf(&b, "&#%d;", r)
		}
	}
	return b.String() + "</code>"
}
