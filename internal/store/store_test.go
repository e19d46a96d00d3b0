package store

import (
	"errors"
	"strings"
	"testing"
)

func TestSegment(t *testing.T) {
	seen := map[string]string{}
	long := strings.Repeat("a", MaxSegment)
	for _, text := range []string{"", "_", "a", "A", "_41", "FDO123", "fdo123", "a.b", "a_b", "a-b", "a/b", "ü", "\x00", long, long + "a", strings.ToUpper(long), "__", "nqn.2014-08.org:x"} {
		part := Segment(text)
		if was, ok := seen[part]; ok {
			t.Errorf("%q and %q are both %q", text, was, part)
		}
		seen[part] = text
		if err := CheckKey(part); err != nil {
			t.Errorf("%q: %v", text, err)
		}
		if strings.Contains(part, "/") {
			t.Errorf("%q has several parts: %q", text, part)
		}
	}
	if Segment("server-17") != "server-17" || Segment("FDO1") != "_46_44_4f1" {
		t.Error("plain texts are to be read as they are", Segment("FDO1"))
	}
}

func FuzzKey(f *testing.F) {
	f.Add("run/r1")
	f.Add("Run:1 ü")
	f.Fuzz(func(t *testing.T, text string) {
		if err := CheckKey(Segment(text)); err != nil {
			t.Errorf("%q: %v", text, err)
		}
		if err := CheckKey(text); err != nil && !errors.As(err, new(*InvalidError)) {
			t.Errorf("%q: %v", text, err)
		} else if err == nil && strings.Trim(text, "abcdefghijklmnopqrstuvwxyz0123456789-_/") != "" {
			t.Errorf("%q is taken", text)
		}
	})
}

func TestTokens(t *testing.T) {
	for _, c := range []struct {
		a, b Token
		want int
	}{{Token{1, 5}, Token{1, 5}, 0}, {Token{1, 5}, Token{1, 6}, -1}, {Token{2, 1}, Token{1, 6}, 1}} {
		if c.a.Compare(c.b) != c.want || c.b.Compare(c.a) != -c.want {
			t.Errorf("%s and %s: %d", c.a, c.b, c.a.Compare(c.b))
		}
	}
}
