package main

import (
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// A terminal passes on what may be shown to people. What would move a cursor,
// change colours or titles, or turn the direction of writing around, is written
// as JSON writes it: texts of targets come in names, errors and logs, and all
// output of this program goes through here. In JSON it means the same as before.
type terminal struct{ out io.Writer }

// Write writes p, of which it reports all or nothing.
func (t terminal) Write(p []byte) (int, error) {
	if _, err := io.WriteString(t.out, visible(string(p), "\n\t")); err != nil {
		return 0, err
	}
	return len(p), nil
}

// shown is what a target says of itself, in one cell of one line.
func shown(s string) string { return visible(s, "") }

// visible escapes what is not printable, and none of layout.
func visible(s, layout string) string {
	hidden := func(r rune) bool {
		return r == utf8.RuneError || !unicode.IsPrint(r) && !strings.ContainsRune(layout, r)
	}
	if strings.IndexFunc(s, hidden) < 0 {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		switch high, low := utf16.EncodeRune(r); {
		case !hidden(r):
			b.WriteRune(r)
		case r > 0xffff:
			fmt.Fprintf(&b, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}
