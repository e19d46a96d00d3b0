package view

import (
	"crypto/rand"
	"fmt"
	"io"
	"sync"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// A Screen is where text for people, and events for machines, leave weft. What
// devices, peers and files say is shown there, and no terminal obeys it: control
// characters, C1 ones too, what turns the direction of text, and bytes that are
// no text become \x1b or \u202e. Within JSON, whose encoders leave only those
// from U+007F on as they are, that is the same value.
//
// What weft itself sends to a terminal carries a mark after each ESC, which
// nobody else knows: see [Screen.Style].
type Screen struct {
	w    io.Writer
	mark string

	mu   sync.Mutex
	rest []byte // the beginning of a character or mark that the next write ends
	lost error  // why the first of what was written did not arrive
}

// NewScreen makes a screen of a stream.
func NewScreen(w io.Writer) *Screen { return &Screen{w: w, mark: rand.Text()} }

// Stream is what the screen writes to: for documents that are written as they
// are, and for programs that have the terminal to themselves.
func (s *Screen) Stream() io.Writer { return s.w }

// Style is the style of text on this screen.
func (s *Screen) Style(color bool) Style { return Style{Color: color, key: s.mark} }

// Visible is text as a screen shows it, without anything that a terminal obeys.
func Visible(text string) string {
	out, rest := NewScreen(nil).clean([]byte(text))
	return string(appendBytes(out, rest))
}

// Write implements io.Writer.
func (s *Screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	out, rest := s.clean(append(s.rest, p...))
	s.rest = append([]byte(nil), rest...)
	if _, err := s.w.Write(out); err != nil {
		if s.lost == nil {
			s.lost = err
		}
		return 0, err
	}
	return len(p), nil
}

// Lost says why the first of what was written did not arrive; nil: all of it did.
func (s *Screen) Lost() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lost
}

// Close writes what a last write left incomplete.
func (s *Screen) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.rest) == 0 {
		return nil
	}
	_, err := s.w.Write(appendBytes(nil, s.rest))
	s.rest = nil
	return err
}

// appendBytes appends what stands for bytes that are no text.
func appendBytes(out, text []byte) []byte {
	for _, b := range text {
		out = fmt.Appendf(out, `\x%02x`, b)
	}
	return out
}

// clean is text as it is shown, and the end of it that is not complete.
func (s *Screen) clean(text []byte) (out, rest []byte) {
	out = make([]byte, 0, len(text))
	for i := 0; i < len(text); {
		b := text[i]
		switch {
		case b == '\n' || b == '\t' || ' ' <= b && b < 0x7f:
			out = append(out, b)
			i++
			continue
		case b == 0x1b || b == '\r':
			n, whole := s.own(text[i:])
			if !whole {
				return out, text[i:]
			}
			if n > 0 {
				if b == 0x1b {
					out = append(out, b)
				}
				i += n
				continue
			}
		}
		if !utf8.FullRune(text[i:]) {
			return out, text[i:]
		}
		r, size := utf8.DecodeRune(text[i:])
		out = appendShown(out, r, text[i:i+size])
		i += size
	}
	return out, nil
}

// own is how much of the beginning of text is not shown as it is: the ESC of weft
// itself with its mark, or the CR of a line's end. It is not whole where what
// comes next decides.
func (s *Screen) own(text []byte) (n int, whole bool) {
	want := "\r\n"
	if text[0] == 0x1b {
		want = "\x1b" + s.mark
	}
	for i := range len(want) {
		if i == len(text) {
			return 0, false
		}
		if text[i] != want[i] {
			return 0, true
		}
	}
	if text[0] == '\r' {
		return 1, true
	}
	return len(want), true
}

// appendShown appends one character, or what stands for it.
func appendShown(out []byte, r rune, raw []byte) []byte {
	switch {
	case r == utf8.RuneError && len(raw) == 1, r < ' ':
		return fmt.Appendf(out, `\x%02x`, raw[0])
	case !unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp):
		return append(out, raw...)
	case r > 0xffff:
		high, low := utf16.EncodeRune(r)
		return fmt.Appendf(out, `\u%04x\u%04x`, high, low)
	}
	return fmt.Appendf(out, `\u%04x`, r)
}
