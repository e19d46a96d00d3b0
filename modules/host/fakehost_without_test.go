package host_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"weft/internal/hint"
	"weft/inventory"
	"weft/modules/host"
	"weft/plan"
)

// What a system lacks is refused by its name and with its reason, before anything is
// changed; the rest goes on.
func TestASystemWithout(t *testing.T) {
	const why = "the box was built so"
	cases := map[string]struct {
		lack    func(*host.OS)
		feature host.Feature
		list    []declared
		refused []string // kind.name
	}{
		"memory": {func(os *host.OS) { os.Memory = nil }, host.Memories, site(), []string{"note.new", "note.old", "wire.left"}},
		"memory and guard": {func(os *host.OS) { os.Memory, os.Guard = nil, nil }, host.Memories,
			[]declared{aNote("old", "after", "swordfish")}, []string{"note.old"}},
		"guard":                        {func(os *host.OS) { os.Guard = nil }, host.Guards, site(), []string{"wire.left"}},
		"guard, where none is needed":  {func(os *host.OS) { os.Guard = nil }, host.Guards, []declared{aNote("old", "after", "swordfish")}, nil},
		"memory, where none is needed": {func(os *host.OS) { os.Memory = nil }, host.Memories, []declared{aWire("right", 10)}, nil},
	}
	for name, test := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b, os := newBox(), fakehost()
				test.lack(os)
				os.Without[test.feature] = why
				in, end := b.process(-1, "").input(os, test.list)
				defer end()
				before := b.all()
				p := b.plan(t, in)
				if len(p.Unreachable()) > 0 {
					t.Fatalf("%+v", p.Unreachable())
				}
				var refused []string
				for _, r := range p.Refusals {
					refused = append(refused, r.ID.Kind+"."+r.ID.Name)
					if want := "weft does without " + string(test.feature) + " on fakehost: " + why; r.Text != want || r.Hint == "" {
						t.Errorf("%s is refused as %q (%s), want %q", r.ID, r.Text, r.Hint, want)
					}
				}
				if strings.Join(slices.Sorted(slices.Values(refused)), " ") != strings.Join(test.refused, " ") {
					t.Errorf("refused are %q, want %q", refused, test.refused)
				}
				_, err := plan.Apply(t.Context(), p, in)
				if (err != nil) != (test.refused != nil) {
					t.Errorf("apply: %v", err)
				}
				if (test.refused != nil || os.Memory == nil) && b.all() != before {
					t.Errorf("the box was changed to\n%s", b.all())
				}
			})
		})
	}
}

// Nor is what could cut a machine off reverted without a guard.
func TestASystemWithoutAGuardPrunesNothingRisky(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, os := newBox(), fakehost()
		b.apply(t, site())
		before := b.all()
		os.Guard = nil
		in, end := b.process(-1, "").input(os, nil)
		defer end()
		in.Destroy = true
		p := b.plan(t, in)
		if len(p.Refusals) != 1 || p.Refusals[0].ID.Kind != "wire" || !strings.Contains(p.Refusals[0].Text, "weft does without a timer") {
			t.Errorf("refused is %+v", p.Refusals)
		}
		if _, err := plan.Apply(t.Context(), p, in); err == nil || b.all() != before {
			t.Errorf("%v; the box holds\n%s", err, b.all())
		}
	})
}

// What asks for something that a system lacks, and is no plan.
func TestASystemWithoutIsAsked(t *testing.T) {
	lacks := func(os *host.OS) { os.Memory, os.Guard, os.Facts = nil, nil, nil }
	mark := plan.Mark{Format: plan.MarkFormat, Run: "run-1", Owner: "me", Token: "t"}
	for name, test := range map[string]struct {
		ask  func(*testing.T, *host.Machine) error
		lack host.Feature
	}{
		"facts": {func(t *testing.T, d *host.Machine) error { _, _, err := d.ServerFacts(t.Context()); return err }, host.Telling},
		"mark": {func(t *testing.T, d *host.Machine) error {
			return d.Mark(t.Context(), mark, func(plan.Mark) bool { return false })
		}, host.Memories},
		"unmark":      {func(t *testing.T, d *host.Machine) error { return d.Unmark(t.Context(), mark) }, host.Memories},
		"read marks":  {func(t *testing.T, d *host.Machine) error { _, err := d.ReadMarks(t.Context()); return err }, host.Memories},
		"break marks": {func(t *testing.T, d *host.Machine) error { return d.BreakMark(t.Context(), mark) }, host.Memories},
		"lease":       {func(t *testing.T, d *host.Machine) error { _, err := d.Lease(t.Context()); return err }, host.Memories},
		"begin": {func(t *testing.T, d *host.Machine) error {
			if _, err := d.Open(t.Context()); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = d.Close() })
			return d.Begin(t.Context(), nil)
		}, host.Memories},
		"storage": {func(_ *testing.T, d *host.Machine) error { return d.OS().Lacks(host.Intents) }, host.Intents},
	} {
		t.Run(name, func(t *testing.T) {
			os := fakehost()
			lacks(os)
			delete(os.Without, test.lack) // weft has a reason of its own then
			b := newBox()
			before := b.all()
			in, end := b.process(-1, "").input(os, nil)
			defer end()
			d := in.Devices[boxAddr].(*host.Machine)
			err := test.ask(t, d)
			if err == nil || !strings.Contains(err.Error(), "weft does without "+string(test.lack)+" on fakehost: weft does not know how") || hint.Of(err) == "" {
				t.Errorf("%v (%s)", err, hint.Of(err))
			}
			if b.all() != before {
				t.Errorf("the box was changed to\n%s", b.all())
			}
		})
	}
}

// NICs that are declared and that a system cannot tell of are not passed over.
func TestASystemWithoutFactsSaysSo(t *testing.T) {
	in, end := newBox().process(-1, "").input(fakehost(), nil)
	defer end()
	d := in.Devices[boxAddr].(*host.Machine)
	d.Expect(host.Expectation{RNIC: &inventory.RNIC{Name: "p0"}})
	id, err := d.Open(t.Context())
	if err != nil || len(id.Warnings) != 1 || !strings.Contains(id.Warnings[0], "p0") || !strings.Contains(id.Warnings[0], "a box says nothing of itself") {
		t.Errorf("%q, %v", id.Warnings, err)
	}
}

// A ledger that another system's weft has left is not taken for one of this system,
// and not replaced.
func TestALedgerOfAnotherSystem(t *testing.T) {
	for name, ledger := range map[string]string{
		"linux":                `{"format":1,"owner":"me","os":"linux","serial":3,"roster":[],"entries":[{"kind":"note","name":"old","state":"created","applied":{"Name":"old","Text":"x"}}]}`,
		"none, which is linux": `{"format":1,"owner":"me","serial":3,"roster":[],"entries":[{"kind":"note","name":"old","state":"created","applied":{"Name":"old","Text":"x"}}]}`,
		"one not yet known":    `{"format":1,"owner":"me","os":"esxi","serial":3,"roster":[],"entries":[]}`,
	} {
		t.Run(name, func(t *testing.T) {
			b := newBox()
			b.vault["vault:me.ledger"] = ledger
			before := b.all()
			for _, destroy := range []bool{false, true} {
				in, end := b.process(-1, "").input(fakehost(), site())
				if in.Destroy = destroy; destroy {
					in.Items = nil
				}
				p := b.plan(t, in)
				_, err := plan.Apply(t.Context(), p, in)
				var ledger *plan.LedgerError
				if !errors.As(err, &ledger) || !strings.Contains(err.Error(), "the ledger vault:me.ledger is that of os = ") || b.all() != before {
					t.Errorf("destroy %t: %v; the box holds\n%s", destroy, err, b.all())
				}
				end()
			}
		})
	}
}

// A server of a roster that names no system is one of Linux: to name it is no change,
// and another system is.
func TestARosterWithoutSystems(t *testing.T) {
	for os, changed := range map[string]bool{"linux": false, "": false, "fakehost": true} {
		synctest.Test(t, func(t *testing.T) {
			b := newBox()
			old := plan.Member{Device: "server.old", Kind: "server", Host: "old"}
			with := func(m plan.Member) func(*plan.Input) {
				return func(in *plan.Input) { in.Roster = append(in.Roster, m) }
			}
			b.apply(t, site(), with(old))
			before := b.all()
			named := old
			named.OS = os
			p := b.apply(t, site(), with(named))
			if p.Empty() == changed || (b.all() != before) != changed {
				t.Errorf("os = %q: %d steps; the box holds\n%s", os, len(p.Steps), b.all())
			}
		})
	}
}

// A transaction without the roster, as one that ends what a killed weft has begun, lists
// its own device only. A plan from before it is carried out as it stands.
func TestARosterOfOneIsNotStale(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBox()
		whole := func(in *plan.Input) {
			in.Roster = append(in.Roster, plan.Member{Device: "server.old", Kind: "server", Host: "old"})
		}
		in, end := b.process(-1, "").input(fakehost(), site())
		whole(&in)
		p := b.plan(t, in)
		end()
		b.apply(t, site()[:1], func(in *plan.Input) { in.Roster = nil })
		in, end = b.process(-1, "").input(fakehost(), site())
		defer end()
		whole(&in)
		if _, err := plan.Apply(t.Context(), p, in); err != nil {
			t.Error(err)
		}
		b.holds(t, "the plan from before", settled)
		b.idle(t, "after it", site(), whole)
	})
}
