package text

import "testing"

func TestLists(t *testing.T) {
	names := []string{"a", "b", "c", "d", "e"}
	for _, c := range []struct{ got, want string }{
		{Count(0, "switch", "switches"), "0 switches"},
		{Count(1, "switch", "switches"), "1 switch"},
		{Count(2, "device was", "devices were"), "2 devices were"},
		{Plural(1, "is", "are"), "is"},
		{More(-1), ""},
		{More(0), ""},
		{More(3), " and 3 more"},
		{List(nil, 3), ""},
		{List(names, 5), "a, b, c, d, e"},
		{List(names, 2), "a, b and 3 more"},
		{Join(names[:2], "; ", 2), "a; b"},
		{Few(names, "; "), "a; b; c and 2 more"},
	} {
		if c.got != c.want {
			t.Errorf("%q, want %q", c.got, c.want)
		}
	}
	if names[2] != "c" {
		t.Error("a list was changed")
	}
}

func TestWidth(t *testing.T) {
	for line, want := range map[string]int{"": 0, "leaf-1": 6, "Zürich": 6, "Zu\u0308rich": 6, "機房": 4, "한": 2, "✓ done": 6, "a\u200db": 2, "🚦": 2} {
		if got := Width(line); got != want {
			t.Errorf("%q is %d columns wide, want %d", line, got, want)
		}
	}
	if got := Pad("機", 4) + "|" + PadLeft("機", 4) + "|" + Pad("long", 2); got != "機  |  機|long" {
		t.Errorf("%q", got)
	}
}

func TestShortened(t *testing.T) {
	for _, c := range []struct {
		text string
		most int
		want string
	}{{"leaf", 4, "leaf"}, {"leaf-1", 4, "lea…"}, {"机房机房", 3, "机房…"}, {"x", 0, "…"}} {
		if got := Clip(c.text, c.most); got != c.want {
			t.Errorf("Clip(%q, %d) = %q", c.text, c.most, got)
		}
	}
	for _, c := range []struct {
		text    string
		most    int
		want    string
		missing int
	}{{"leaf", 4, "leaf", 0}, {"leaf-1", 4, "leaf", 2}, {"Zürich", 2, "Z", 6}, {"机", 1, "", 3}} {
		if got, missing := Head(c.text, c.most); got != c.want || missing != c.missing {
			t.Errorf("Head(%q, %d) = %q, %d", c.text, c.most, got, missing)
		}
	}
}
