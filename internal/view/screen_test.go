package view

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

func TestScreen(t *testing.T) {
	for in, want := range map[string]string{
		"":                            "",
		"a\tb\r\n\nc":                 "a\tb\n\nc",
		"50%\rdone":                   `50%\x0ddone`,
		"\x1b[2Jx\x00\x07\x9b":        `\x1b[2Jx\x00\x07\x9b`,
		"\x1b":                        `\x1b`,
		"\u009b31mred\x7f":            `\u009b31mred\u007f`,
		"grüß\xff €":                  `grüß\xff €`,
		"\u202egnp.exe\u2066\u200b":   `\u202egnp.exe\u2066\u200b`,
		"\U000e0041\u2028":            `\udb40\udc41\u2028`,
		"cut \xe2\x82":                `cut \xe2\x82`,
		"✓ 30 µs → 9000 █ \ufffd":     "✓ 30 µs → 9000 █ \ufffd",
		"\x1bNOTTHEMARK[31mno\x1b[0m": `\x1bNOTTHEMARK[31mno\x1b[0m`,
	} {
		for _, size := range []int{1, 2, 3, 1000} { // of each write
			var b bytes.Buffer
			s := NewScreen(&b)
			for rest := in; rest != ""; {
				n := min(size, len(rest))
				if _, err := s.Write([]byte(rest[:n])); err != nil {
					t.Fatal(err)
				}
				rest = rest[n:]
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			if b.String() != want {
				t.Errorf("%q, %d at once, is shown as %q, wanted %q", in, size, b.String(), want)
			}
		}
	}
}

// Weft's own colours reach the terminal, and nobody else's: a mark is of one
// screen.
func TestScreenStyles(t *testing.T) {
	var b bytes.Buffer
	s := NewScreen(&b)
	other := NewScreen(nil).Style(true)
	text := s.Style(true).dress(red, "a\x1b[32mb") + other.dress(green, "c") + s.Style(false).dress(red, "d")
	for i := range len(text) {
		if _, err := s.Write([]byte(text[i : i+1])); err != nil {
			t.Fatal(err)
		}
	}
	want := "\x1b[31ma\\x1b[32mb\x1b[0m\\x1b" + other.key + "[32mc\\x1b" + other.key + "[0md"
	if b.String() != want {
		t.Errorf("shown as %q, wanted %q", b.String(), want)
	}
}

// Whatever is said, no terminal obeys it, and JSON keeps its value.
func FuzzScreen(f *testing.F) {
	f.Add("a\x1b[31m\u009b\u202e\xff\r\n\U000e0001")
	f.Fuzz(func(t *testing.T, text string) {
		var shown, line bytes.Buffer
		s := NewScreen(&shown)
		_, _ = s.Write([]byte(text))
		_ = s.Close()
		for _, r := range shown.String() {
			if r != '\n' && r != '\t' && unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) || !utf8.Valid(shown.Bytes()) {
				t.Fatalf("%q is shown as %q", text, shown.String())
			}
		}
		text = strings.ToValidUTF8(text, "\ufffd")
		if err := json.NewEncoder(NewScreen(&line)).Encode(text); err != nil {
			t.Fatal(err)
		}
		var back string
		if err := json.Unmarshal(line.Bytes(), &back); err != nil || back != text {
			t.Fatalf("%q is %s as JSON, which reads %q: %v", text, line.Bytes(), back, err)
		}
	})
}
