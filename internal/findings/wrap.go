package findings

import (
	"strings"
	"unicode/utf8"
)

// Wrap breaks the lines of a text at spaces so that they have at most width characters where
// that is possible; what follows a break begins with indent, which does not count.
func Wrap(text string, width int, indent string) string {
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
				b.WriteString("\n" + indent)
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
