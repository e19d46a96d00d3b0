package plan

import (
	"slices"
	"strings"
	"testing"
)

// renamedHost is a target that admits hosts by name, and a host that takes another name:
// the connection by the old name is declared no more.
func renamedHost(t *testing.T) (w *world, after func() Input) {
	t.Helper()
	w = newWorld()
	w.serves = map[string][]string{"h/conn.old": {"path", "any"}, "h/conn.new": {"path", "any"}}
	sub := w.want("t/sub.s", "old")
	access := w.want("t/access.s", "only old", "t/sub.s")
	w.want("t/boot.s", "old", "t/sub.s", "t/access.s")
	w.want("h/conn.old", "1", "t/sub.s")
	w.want("h/conn.new", "1", "t/sub.s")
	w.keep()
	for i := range w.items {
		if w.items[i].ID.Kind == "access" {
			w.items[i].After, w.items[i].Closes = []ID{{"h", "conn", "new"}}, []ID{{"t", "sub", "s"}}
		}
	}
	before := w.inputOf(func(item Item) bool { return item.ID.Name != "new" })
	if _, err := Apply(t.Context(), mustMake(t, t.Context(), before), before); err != nil {
		t.Fatal(err)
	}
	w.calls, w.applied = nil, nil
	return w, func() Input {
		sub.value, access.value = "old new", "only new"
		return w.inputOf(func(item Item) bool { return item.ID.Name != "old" })
	}
}

// follows checks that the calls come in that order, whatever is between them.
func follows(t *testing.T, calls []string, order ...string) {
	t.Helper()
	last := -1
	for _, want := range order {
		at := slices.Index(calls[last+1:], want)
		if at < 0 {
			t.Fatalf("%q does not follow in %s", want, strings.Join(calls, ", "))
		}
		last += 1 + at
	}
}

// A host that takes another name is admitted by it, connects and is proven before its old
// connection ends, and that has ended for good before the target forgets the old name.
func TestAccessGoesLast(t *testing.T) {
	w, after := renamedHost(t)
	in := after()
	p := throughFile(t, mustMake(t, t.Context(), in))
	if _, err := Apply(t.Context(), p, in); err != nil {
		t.Fatal(err)
	}
	follows(t, w.calls, "apply t/sub.s", "apply h/conn.new", "commit h", "verify h/conn.new", "apply h/conn.old", "commit h", "apply t/access.s", "commit t")
	if left := mustMake(t, t.Context(), after()).Steps; len(left) > 0 {
		t.Errorf("left %v", left)
	}
}

// Wherever the change fails, the host keeps a connection that the target admits, and what
// each device keeps is told.
func TestAccessStaysWhereItFails(t *testing.T) {
	for fault, want := range map[string]struct{ keeps, says string }{
		"apply h/conn.new":  {"conn.old", "h is as it was"},
		"commit h":          {"conn.old", "h is as it was"},
		"verify h/conn.new": {"conn.old conn.new", "verify h/conn.new"},
		"apply h/conn.old":  {"conn.old conn.new", "h keeps 1 change (conn.new), and the 1 change begun after that were reverted"},
		"apply t/access.s":  {"conn.new", "t keeps 1 change (sub.s), and the 1 change begun after that were reverted"},
	} {
		t.Run(fault, func(t *testing.T) {
			w, after := renamedHost(t)
			in := after()
			p := mustMake(t, t.Context(), in)
			w.failOn(fault)
			res, err := Apply(t.Context(), p, in)
			if err == nil {
				t.Fatal("no error")
			}
			host, target := w.devices["h"].(*fakeKeeper).values, w.devices["t"].(*fakeKeeper).values
			for _, c := range strings.Fields(want.keeps) {
				if host[c] != "1" {
					t.Errorf("the host has %v", host)
				}
			}
			if host["conn.old"] == "1" && target["access.s"] != "only old" {
				t.Errorf("the target has %v while the host has %v", target, host)
			}
			if !slices.ContainsFunc(w.events, func(e Event) bool { return strings.Contains(e.Message, want.says) }) {
				t.Errorf("nothing says %q: %v", want.says, w.events)
			}
			for _, d := range res.Devices {
				for _, s := range d.Steps {
					if s.Outcome == StepDone && d.Outcome != DeviceChanged {
						t.Errorf("%s is %s with %s done", d.Device, d.Outcome, s.ID)
					}
				}
			}
			w.fault = nil
			in = after()
			if _, err := Apply(t.Context(), mustMake(t, t.Context(), in), in); err != nil {
				t.Fatalf("again: %v", err)
			}
		})
	}
}

// Without anything that takes the place of a connection, nothing waits for it.
func TestAccessWithoutReplacement(t *testing.T) {
	w, after := renamedHost(t)
	in := after()
	in.Items = slices.DeleteFunc(in.Items, func(item Item) bool { return item.ID.Kind == "conn" })
	if _, err := Apply(t.Context(), mustMake(t, t.Context(), in), in); err != nil {
		t.Fatal(err)
	}
	follows(t, w.calls, "apply h/conn.old", "commit h", "apply t/access.s")
}
