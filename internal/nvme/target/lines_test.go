package target

import (
	"fmt"
	"testing"
)

// TestLines: hosts are served in turn, none has more than its share under way,
// and what was taken out is gone.
func TestLines(t *testing.T) {
	var l lines[string]
	for _, v := range []string{"a1", "a2", "a3", "b1", "b2", "c1"} {
		l.add(v[:1], v)
	}
	var got []string
	var of []*line[string]
	take := func(most int) {
		v, from, ok := l.next(most)
		if !ok {
			v = "-"
		}
		got, of = append(got, v), append(of, from)
	}
	for range 4 {
		take(1)
	}
	l.done(of[1])
	take(1)
	take(2)
	l.add("b", "b3")
	l.add("b", "b4")
	out := l.drop("b", func(v string) bool { return v == "b3" })
	take(3)
	take(3)
	take(3)
	if want := "[a1 b1 c1 - b2 a2 a3 b4 -] [b3] 0"; fmt.Sprint(got, out, l.count) != want {
		t.Errorf("%v %v %d, want %s", got, out, l.count, want)
	}
	for i, from := range of {
		if from != nil && i != 1 {
			l.done(from)
		}
	}
	if len(l.of) != 0 || l.turn.n != 0 {
		t.Errorf("%d lines are left, %d of them wait", len(l.of), l.turn.n)
	}
	for range 10 {
		l.add("d", "d1")
	}
	if n := len(l.drop("d", func(string) bool { return true })); n != 10 || len(l.of) != 0 || l.turn.n != 0 {
		t.Errorf("%d of 10 dropped, %d lines left", n, len(l.of))
	}
	if n := testing.AllocsPerRun(100, func() {
		l.add("e", "e1")
		_, from, _ := l.next(1)
		l.done(from)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
