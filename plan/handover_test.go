package plan

import (
	"slices"
	"strings"
	"testing"
)

// handedOver is two devices on each of which one thing gives way to another that holds the
// same, and a client that rests on both.
func handedOver() (w *world, before, after func() Input) {
	w = newWorld()
	w.holds = map[string][]string{}
	for _, d := range []string{"a", "c"} {
		for _, name := range []string{"old", "new"} {
			w.holds[d+"/v."+name] = []string{"tcp 1", "tcp 2"}
		}
		w.want(d+"/v.other", "1")
		w.want(d+"/v.old", "1", d+"/v.other")
		w.want(d+"/v.new", "1", d+"/v.other")
	}
	client := w.want("b/v.client", "1", "a/v.old", "c/v.old", "a/v.new", "c/v.new")
	w.keep()
	with := func(value, without string) func() Input {
		return func() Input {
			client.value = value
			return w.inputOf(func(item Item) bool { return item.ID.Name != without })
		}
	}
	return w, with("1", "new"), with("2", "old")
}

// What takes something that one alone can hold comes after what held it, whoever rested
// on that; the plan says so, and one device at a time is without.
func TestHandover(t *testing.T) {
	ctx := within(t)
	w, before, after := handedOver()
	if _, err := Apply(ctx, mustMake(t, ctx, before()), before()); err != nil {
		t.Fatal(err)
	}
	w.applied = nil
	w.turns = func(device string) bool { return device != "b" }
	in := after()
	p := throughFile(t, mustMake(t, ctx, in))
	for _, d := range p.Devices {
		told := strings.Join(d.Identity.Warnings, "; ")
		if want := "tcp 1, tcp 2 goes from v.old to v.new, which cannot have it at the same time"; (d.Address != "b") != strings.Contains(told, want) {
			t.Errorf("%s: told %q", d.Address, told)
		}
	}
	if _, err := Apply(ctx, p, in); err != nil {
		t.Fatal(err)
	}
	at := func(id string) int {
		return slices.IndexFunc(w.applied, func(is ID) bool { return is.String() == id })
	}
	for _, d := range []string{"a", "c"} {
		if old, now := at(d+"/v.old"), at(d+"/v.new"); old < 0 || now < old || at("b/v.client") < now {
			t.Errorf("applied in the order %v", w.applied)
		}
	}
	if w.most != 1 {
		t.Errorf("%d devices were without at the same time", w.most)
	}
}

// A run that is killed anywhere in between goes on with the same plan, or with a new one.
func TestHandoverKilled(t *testing.T) {
	ctx := within(t)
	for nth, more := 1, true; more; nth++ {
		w, before, after := handedOver()
		if _, err := Apply(ctx, mustMake(t, ctx, before()), before()); err != nil {
			t.Fatal(err)
		}
		in := after()
		p := mustMake(t, ctx, in)
		w.killAt(nth)
		_, err := Apply(ctx, p, in)
		more = err != nil
		w.fault, w.dead = nil, false
		if nth%2 == 0 {
			p = mustMake(t, ctx, in)
		}
		_, err = Apply(ctx, p, in)
		if err != nil && strings.Contains(err.Error(), "half done") { // a value that no plan begins with
			p = mustMake(t, ctx, in)
			_, err = Apply(ctx, p, in)
		}
		if err != nil {
			t.Fatalf("killed at %d: %v", nth, err)
		}
		if left := mustMake(t, ctx, in).Steps; len(left) > 0 {
			t.Fatalf("killed at %d, and after that there is left %v", nth, left)
		}
	}
}
