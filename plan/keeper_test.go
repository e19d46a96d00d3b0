package plan

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// A fakeKeeper is a fakeDevice with a ledger. When its world is dead, nothing
// that is called does anything any more: the weft that calls was killed.
type fakeKeeper struct {
	*fakeDevice
	kept  Kept
	steps []Step
	was   Kept // before the transaction
}

var errKilled = errors.New("weft was killed")

func (d *fakeKeeper) alive() error {
	d.world.mu.Lock()
	defer d.world.mu.Unlock()
	if d.world.dead {
		return errKilled
	}
	return nil
}

func (d *fakeKeeper) Capabilities() Capabilities { return Capabilities{Ledger: true} }

func (d *fakeKeeper) Kept() Kept { return d.kept }

func (d *fakeKeeper) Restore(e Entry) (Resource, error) {
	r := &fakeResource{device: d.fakeDevice, id: ID{d.address, e.Kind, e.Name}}
	if e.Former != nil {
		if err := json.Unmarshal(e.Former, &r.value); err != nil {
			return nil, err
		}
	}
	return r, nil
}

func (d *fakeKeeper) Drifted(e Entry, have State) bool {
	v, ok := have.(*string)
	return !ok || string(e.Applied) != quoted(*v)
}

func (d *fakeKeeper) Unchanged(e Entry, r Resource) bool {
	return string(e.Applied) == quoted(r.(*fakeResource).value)
}

func quoted(s string) string { return fmt.Sprintf("%q", s) }

func (d *fakeKeeper) Belongs(roster []Member, _ map[string]bool, _ []string) Resource {
	var names []string
	for _, m := range roster {
		names = append(names, m.Device)
	}
	slices.Sort(names)
	return &fakeResource{device: d.fakeDevice, id: ID{d.address, LedgerKind, "roster"}, value: strings.Join(names, " ")}
}

func (d *fakeKeeper) Pending() Resource {
	return &fakeResource{device: d.fakeDevice, id: ID{d.address, LedgerKind, "revert"}}
}

func (d *fakeKeeper) Open(ctx context.Context) (Identity, error) {
	d.before, d.steps = nil, nil // a new login knows of no transaction
	return d.fakeDevice.Open(ctx)
}

func (d *fakeKeeper) Begin(ctx context.Context, steps []Step) error {
	if err := d.alive(); err != nil {
		return err
	}
	if err := d.fakeDevice.Begin(ctx, steps); err != nil {
		return err
	}
	d.steps, d.was = steps, d.kept
	d.kept.Entries = slices.Clone(d.kept.Entries)
	for _, s := range steps {
		if s.ID.Kind == LedgerKind || s.Prune {
			continue
		}
		at := slices.IndexFunc(d.kept.Entries, func(e Entry) bool { return e.Key() == s.Resource.(*fakeResource).key() })
		if at >= 0 {
			d.kept.Entries[at].State = EntryCreating
			continue
		}
		e := Entry{Kind: s.ID.Kind, Name: s.ID.Name, State: EntryCreating, Needs: s.Needs, Applied: json.RawMessage(quoted(s.Resource.(*fakeResource).value))}
		if v, ok := s.Have.(*string); ok {
			e.Former = json.RawMessage(quoted(*v))
		}
		d.kept.Entries = append(d.kept.Entries, e)
	}
	return nil
}

func (d *fakeKeeper) Apply(ctx context.Context, s Step) error {
	if err := d.alive(); err != nil {
		return err
	}
	err := d.fakeDevice.Apply(ctx, s)
	if err == nil && s.ID.Kind == LedgerKind && s.ID.Name == "roster" {
		d.kept.Roster = nil
		for name := range strings.FieldsSeq(s.Resource.(*fakeResource).value) {
			d.kept.Roster = append(d.kept.Roster, Member{Device: name, Kind: "server"})
		}
	}
	return err
}

func (d *fakeKeeper) Commit(ctx context.Context) error {
	if err := d.alive(); err != nil {
		return err
	}
	if err := d.fakeDevice.Commit(ctx); err != nil {
		return err
	}
	for _, s := range d.steps {
		key := s.ID.Kind + "." + s.ID.Name
		switch {
		case s.Prune:
			d.kept.Entries = slices.DeleteFunc(d.kept.Entries, func(e Entry) bool { return e.Key() == key })
		case s.ID.Name == "roster" && s.Resource.(*fakeResource).value == "":
			d.kept.Entries = nil // what is left of it was found as it was before
		}
	}
	return nil
}

func (d *fakeKeeper) Abort(ctx context.Context) error {
	if err := d.alive(); err != nil {
		return err
	}
	if err := d.fakeDevice.Abort(ctx); err != nil {
		return err
	}
	if d.steps != nil {
		d.kept = d.was
	}
	return nil
}

// keep makes every device of the world remember, and gives each a few values
// that were there before weft.
func (w *world) keep() {
	for address, d := range w.devices {
		if f, ok := d.(*fakeDevice); ok {
			w.devices[address] = &fakeKeeper{fakeDevice: f}
		}
	}
}

// inputOf declares some of the items of a world.
func (w *world) inputOf(chosen func(Item) bool) Input {
	in := w.input()
	in.Items = nil
	declared := map[ID]bool{}
	for _, item := range w.items {
		if chosen(item) {
			in.Items = append(in.Items, item)
			declared[item.ID] = true
		}
	}
	for i, item := range in.Items {
		in.Items[i].Needs = slices.DeleteFunc(slices.Clone(item.Needs), func(id ID) bool { return !declared[id] })
	}
	in.Roster = []Member{}
	for _, address := range slices.Sorted(maps.Keys(w.devices)) {
		in.Roster = append(in.Roster, Member{Device: address, Kind: "server"})
	}
	return in
}

// valuesOf is what all devices hold but for the rosters.
func (w *world) valuesOf() map[string]string {
	all := map[string]string{}
	for address, d := range w.devices {
		for k, v := range d.(*fakeKeeper).values {
			if k != "ledger.roster" && v != "" {
				all[address+"/"+k] = v
			}
		}
	}
	return all
}

// killAt kills whoever calls at that call from now on.
func (w *world) killAt(nth int) {
	w.fault = func(string, int) error {
		if nth--; nth == 0 {
			w.dead = true
		}
		if w.dead {
			return errKilled
		}
		return nil
	}
}

// Whatever is declared, fails or is killed on the way: applying once more
// makes exactly what is declared then, and everything else is as it was
// before weft came. Destroying leaves nothing of ours.
func TestPruneProperties(t *testing.T) {
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 7))
		w := randomWorld(rng)
		w.keep()
		before := w.valuesOf()
		for round := range 3 {
			drop := rng.Uint64()
			chosen := func(i Item) bool { return drop>>(len(i.ID.String()+i.ID.Name)%5*3+len(i.ID.Name))&1 == 0 }
			in := w.inputOf(chosen)
			if round < 2 {
				w.killAt(rng.IntN(40))
			}
			if p, err := Make(t.Context(), in); err == nil {
				_, _ = Apply(t.Context(), p, in)
			}
			w.fault, w.dead = nil, false
			p := mustMake(t, t.Context(), in)
			if res, err := Apply(t.Context(), p, in); err != nil {
				t.Fatalf("seed %d round %d: %v\n%+v", seed, round, err, res)
			}
			if p := mustMake(t, t.Context(), in); !p.Empty() {
				t.Fatalf("seed %d round %d: not converged: %+v", seed, round, p.Steps)
			}
			want := maps.Clone(before)
			for _, item := range in.Items {
				r := item.Resource.(*fakeResource)
				delete(want, item.ID.String())
				if r.value != "" {
					want[item.ID.String()] = r.value
				}
			}
			if got := w.valuesOf(); !maps.Equal(got, want) {
				t.Fatalf("seed %d round %d:\n got %v\nwant %v", seed, round, got, want)
			}
		}
		in := w.inputOf(func(Item) bool { return true })
		in.Destroy = true
		p := mustMake(t, t.Context(), in)
		if _, err := Apply(t.Context(), p, in); err != nil {
			t.Fatalf("seed %d: destroy: %v", seed, err)
		}
		if got := w.valuesOf(); !maps.Equal(got, before) {
			t.Fatalf("seed %d: after destroy\n got %v\nwant %v", seed, got, before)
		}
		for address, d := range w.devices {
			if list := d.(*fakeKeeper).kept.Entries; len(list) > 0 {
				t.Fatalf("seed %d: %s still owns %v", seed, address, list)
			}
		}
	}
}

func TestRemovedDevices(t *testing.T) {
	setup := func() (*world, *fakeKeeper) {
		w := newWorld()
		w.want("a/v.x", "1")
		w.want("b/v.x", "1")
		w.keep()
		in := w.inputOf(func(Item) bool { return true })
		if _, err := Apply(t.Context(), mustMake(t, t.Context(), in), in); err != nil {
			t.Fatal(err)
		}
		b := w.devices["b"].(*fakeKeeper)
		delete(w.devices, "b")
		return w, b
	}
	onlyA := func(i Item) bool { return i.ID.Device == "a" }

	w, _ := setup()
	p := mustMake(t, t.Context(), w.inputOf(onlyA))
	if len(p.Refusals) != 1 || !strings.Contains(p.Refusals[0].Hint, "from = b") || len(p.Steps) != 0 {
		t.Errorf("a device that nobody declares: %+v %+v", p.Refusals, p.Steps)
	}

	w, b := setup()
	in := w.inputOf(onlyA)
	in.Removed = []Removed{{From: "b"}}
	in.Recall = func(m Member) (Device, error) { return b, nil }
	p = mustMake(t, t.Context(), in)
	w.failOn("commit b")
	if res, err := Apply(t.Context(), p, in); err == nil || res.Devices[0].Outcome == DeviceChanged {
		t.Errorf("b was not reverted, and a forgot it: %v %+v", err, res)
	}
	w.fault = nil
	if _, err := Apply(t.Context(), p, in); err != nil {
		t.Error(err)
	}
	if len(b.kept.Entries) != 0 || b.values["v.x"] != "" {
		t.Errorf("b keeps %+v %v", b.kept, b.values)
	}
	if p := mustMake(t, t.Context(), in); !p.Empty() {
		t.Errorf("not converged: %+v %+v", p.Steps, p.Refusals)
	}

	w, b = setup()
	in = w.inputOf(onlyA)
	in.Removed = []Removed{{From: "b", Forget: true}}
	if _, err := Apply(t.Context(), mustMake(t, t.Context(), in), in); err != nil {
		t.Error(err)
	}
	if len(b.kept.Entries) != 1 || b.values["v.x"] != "1" {
		t.Errorf("forgotten b is touched: %+v %v", b.kept, b.values)
	}
	if p := mustMake(t, t.Context(), w.inputOf(onlyA)); !p.Empty() {
		t.Errorf("a still knows b: %+v %+v", p.Steps, p.Refusals)
	}

	// The block was only renamed: the machine is the same one.
	w, b = setup()
	in = w.inputOf(onlyA)
	in.Removed = []Removed{{From: "b"}}
	b.identity.MachineID = w.devices["a"].(*fakeKeeper).identity.MachineID
	in.Recall = func(Member) (Device, error) { return b, nil }
	if p := mustMake(t, t.Context(), in); len(p.Refusals) != 1 || !strings.Contains(p.Refusals[0].Text, "declared as a") || !strings.Contains(p.Refusals[0].Hint, "moved {\n  from = b\n  to   = a\n}") {
		t.Errorf("the same machine: %+v %+v", p.Refusals, p.Steps)
	}

	// A switch has a serial number and no machine id.
	w, b = setup()
	in = w.inputOf(onlyA)
	in.Removed = []Removed{{From: "b"}}
	b.identity = Identity{Serial: "FDO1"}
	w.devices["a"].(*fakeKeeper).identity = b.identity
	in.Recall = func(Member) (Device, error) { return b, nil }
	if p := mustMake(t, t.Context(), in); len(p.Refusals) != 1 || !strings.Contains(p.Refusals[0].Text, "declared as a") || slices.ContainsFunc(p.Steps, func(s PlannedStep) bool { return s.ID.Device == "b" }) {
		t.Errorf("the same switch: %+v %+v", p.Refusals, p.Steps)
	}
}

// Two names lead to one device, and only one of them is selected: what the other declares is
// not pruned. Devices that declare nothing of it are not asked.
func TestTwinNotSelected(t *testing.T) {
	w := newWorld()
	w.want("a/v.x", "1")
	w.want("b/v.y", "1")
	w.want("c/v.z", "1")
	w.keep()
	a, b := w.devices["a"].(*fakeKeeper), w.devices["b"].(*fakeKeeper)
	b.identity = a.identity
	in := w.inputOf(func(Item) bool { return true })
	in.Select = Selection{Target: []string{"a"}}
	if _, err := Apply(t.Context(), mustMake(t, t.Context(), in), in); err != nil {
		t.Fatal(err)
	}
	b.kept, b.values = a.kept, a.values // the device is one
	asked := w.called("open c")
	in.Select = Selection{Target: []string{"b"}}
	p := mustMake(t, t.Context(), in)
	if len(p.Steps) != 0 || len(p.Devices) != 1 || !strings.Contains(p.Devices[0].Error, "it is the same device as a") {
		t.Errorf("%+v %+v", p.Steps, p.Devices)
	}
	if w.called("open c") != asked {
		t.Error("c was asked, which declares nothing that would be pruned")
	}
}

// chained is a world in which a/v.x, a/v.y and b/v.x build on each other.
func chained() *world {
	w := newWorld()
	w.want("a/v.x", "1")
	w.want("a/v.y", "1", "a/v.x")
	w.want("b/v.x", "1", "a/v.y")
	w.want("c/v.x", "1")
	w.keep()
	return w
}

// What is applied part by part is reverted in order all the same: nothing
// before what rests on it.
func TestDestroyAfterParts(t *testing.T) {
	for name, of := range map[string]func(in Input, device string) Input{
		"all devices": func(in Input, _ string) Input { return in },
		"each by who knows no other": func(in Input, device string) Input {
			return in.At(func(d string) bool { return d == device })
		},
	} {
		w := chained()
		in := w.inputOf(func(Item) bool { return true })
		whole := mustMake(t, t.Context(), in)
		for _, one := range whole.Steps {
			if _, err := Apply(t.Context(), whole.Part(func(s PlannedStep) bool { return s.ID == one.ID }), of(in, one.ID.Device)); err != nil {
				t.Fatal(err)
			}
		}
		in.Destroy = true
		at := map[string]int{}
		steps := mustMake(t, t.Context(), in).Steps
		for n, s := range steps {
			at[s.ID.String()] = n
		}
		if len(steps) != len(whole.Steps) || at["b/v.x"] > at["a/v.y"] || at["a/v.y"] > at["a/v.x"] || len(steps[at["a/v.x"]].Needs) == 0 {
			t.Errorf("%s: reverted in the order %v", name, at)
		}
	}
}

func TestSelection(t *testing.T) {
	w := chained()
	for _, test := range []struct {
		sel  Selection
		want string
	}{
		{Selection{Target: []string{"a/v.y"}}, "a/v.x a/v.y"},
		{Selection{Target: []string{"b"}}, "a/v.x a/v.y b/v.x"},
		{Selection{Exclude: []string{"a/v.y"}}, "a/v.x c/v.x"},
		{Selection{Exclude: []string{"c"}}, "a/v.x a/v.y b/v.x"},
		{Selection{Target: []string{"b"}, Exclude: []string{"a/v.x"}}, ""},
	} {
		in := w.inputOf(func(Item) bool { return true })
		in.Select = test.sel
		var got []string
		for _, s := range mustMake(t, t.Context(), in).Steps {
			got = append(got, s.ID.String())
		}
		if strings.Join(got, " ") != test.want {
			t.Errorf("%+v: %v, want %s", test.sel, got, test.want)
		}
	}
	// A device that nothing is wished of any more has an address all the same.
	in := w.inputOf(func(item Item) bool { return item.ID.Device != "c" })
	in.Select = Selection{Target: []string{"c", "a/v.x", "d"}, Exclude: []string{"c/v.x"}}
	if got := in.Unmatched(nil); !slices.Equal(got, []string{"d"}) {
		t.Errorf("not found: %q", got)
	}
}

// What is left out although nobody named it is told, and so is what names nothing;
// what only a ledger knows can be named, too.
func TestSelectionNamesWhatItLeavesOut(t *testing.T) {
	w := chained()
	all := w.inputOf(func(Item) bool { return true })
	if _, err := Apply(t.Context(), mustMake(t, t.Context(), all), all); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name              string
		sel               Selection
		declared          string // "": all
		steps             string
		cut, before, then string // CutOff, Unmatched without the plan and with it
	}{
		{"cut", Selection{Exclude: []string{"a/v.x"}}, "", "", "a/v.y b/v.x", "", ""},
		{"cut of a target", Selection{Target: []string{"a"}, Exclude: []string{"a/v.x"}}, "", "", "a/v.y", "", ""},
		{"nothing is cut", Selection{Exclude: []string{"b", "c/v.x"}}, "", "", "", "", ""},
		{"no such device", Selection{Target: []string{"d", "d/v.x"}}, "", "", "", "d d/v.x", "d d/v.x"},
		{"no such resource", Selection{Target: []string{"a/v.z"}}, "", "", "", "", "a/v.z"},
		{"what only the ledger knows", Selection{Target: []string{"c/v.x"}}, "a/v.x", "c/v.x", "", "", ""},
		{"a device without resources", Selection{Target: []string{"c"}}, "a/v.x", "c/v.x", "", "", ""},
		{"one of two", Selection{Target: []string{"a/v.y"}}, "a/v.x", "a/v.y", "", "", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			in := w.inputOf(func(i Item) bool { return test.declared == "" || i.ID.String() == test.declared })
			in.Select = test.sel
			before := in.Unmatched(nil)
			made := mustMake(t, t.Context(), in)
			var steps, cut []string
			for _, s := range made.Steps {
				steps = append(steps, s.ID.String())
			}
			for _, id := range in.CutOff() {
				cut = append(cut, id.String())
			}
			for _, got := range []struct {
				what string
				list []string
				want string
			}{
				{"steps", steps, test.steps}, {"cut off", cut, test.cut},
				{"unmatched at first", before, test.before}, {"unmatched", in.Unmatched(made), test.then},
			} {
				if strings.Join(got.list, " ") != got.want {
					t.Errorf("%s: %v, want %q", got.what, got.list, got.want)
				}
			}
		})
	}
}
