package text

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Width is the number of columns that a line takes on a terminal: marks and format characters
// take none, East Asian wide characters and emoji two.
func Width(line string) int {
	n := 0
	for _, r := range line {
		switch {
		case r < 0x300:
			n++
		case unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf):
		case unicode.Is(wide, r):
			n += 2
		default:
			n++
		}
	}
	return n
}

// wide are the blocks whose characters are wide (Unicode Standard Annex 11, classes W and F).
var wide = &unicode.RangeTable{
	R16: []unicode.Range16{
		{0x1100, 0x115f, 1}, {0x2e80, 0x303e, 1}, {0x3041, 0x4dbf, 1}, {0x4e00, 0xa4cf, 1}, {0xa960, 0xa97c, 1},
		{0xac00, 0xd7a3, 1}, {0xf900, 0xfaff, 1}, {0xfe30, 0xfe6f, 1}, {0xff01, 0xff60, 1}, {0xffe0, 0xffe6, 1},
	},
	R32: []unicode.Range32{{0x1f300, 0x1f64f, 1}, {0x1f680, 0x1f6ff, 1}, {0x1f900, 0x1faff, 1}, {0x20000, 0x3fffd, 1}},
}

// Pad fills a text with spaces on the right up to a width in columns.
func Pad(s string, width int) string { return s + blanks(s, width) }

// PadLeft fills a text with spaces on the left up to a width in columns.
func PadLeft(s string, width int) string { return blanks(s, width) + s }

func blanks(s string, width int) string { return strings.Repeat(" ", max(0, width-Width(s))) }

// Clip shortens a text to a number of characters, the last of which is then "…".
func Clip(s string, most int) string {
	if utf8.RuneCountInString(s) <= most {
		return s
	}
	return string([]rune(s)[:max(0, most-1)]) + "…"
}

// Head is the beginning of a text, of at most so many bytes and without half a character, and
// the number of bytes that follow it.
func Head(s string, most int) (head string, missing int) {
	if len(s) <= most {
		return s, 0
	}
	for most > 0 && !utf8.RuneStart(s[most]) {
		most--
	}
	return s[:most], len(s) - most
}
