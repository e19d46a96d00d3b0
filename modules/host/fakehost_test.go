package host_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"weft/modules/claim"
	"weft/modules/host"
	"weft/plan"
)

const boxAddr = "server.box"

// A declared resource of the box.
type declared struct {
	kind, name string
	make       func(*host.Machine) host.Thing
	needs      []string // kind.name
}

func aNote(name, text, pass string, needs ...string) declared {
	return declared{"note", name, func(d *host.Machine) host.Thing { return notes().Want(d, &note{name, text, []byte(pass)}) }, needs}
}

func aWire(name string, speed int, needs ...string) declared {
	return declared{"wire", name, func(d *host.Machine) host.Thing { return wires().Want(d, &wire{name, speed}) }, needs}
}

// site is what the tests declare, and settled what a box is then.
func site() []declared {
	return []declared{aWire("left", 40), aNote("old", "after", "swordfish"), aNote("new", "fresh", "tower", "wire.left"), aWire("right", 10)}
}

const settled = `note new "fresh" "tower"
note old "after" "swordfish"
wire left 40
wire right 10`

// input is what a process of weft plans and applies with; end ends it.
func (p *process) input(os *host.OS, list []declared) (in plan.Input, end func()) {
	d := host.New(host.Config{
		OS: os, Member: plan.Member{Device: boxAddr, Kind: "server", Host: "box", OS: os.Name}, MachineID: "box-1", Dial: p.dial, Owner: "me",
		Holder: claim.Holder{Who: "me@laptop", Machine: "laptop", PID: p.pid, Alive: func(h claim.Holder) bool { return p.living[h.PID] }},
		Mine:   func(m plan.Mark) bool { return m.Owner == "me" },
	})
	in = plan.Input{
		Owner: "me", Devices: map[string]plan.Device{boxAddr: d}, Mine: func(m plan.Mark) bool { return m.Owner == "me" },
		Roster: []plan.Member{{Device: boxAddr, Kind: "server", Host: "box", OS: os.Name}},
	}
	for _, want := range list {
		is := want.make(d)
		item := plan.Item{ID: plan.ID{Device: boxAddr, Kind: want.kind, Name: want.name}, Resource: is, Blocks: []string{boxAddr}}
		is.Named(item.ID)
		for _, need := range want.needs {
			kind, name, _ := strings.Cut(need, ".")
			item.Needs = append(item.Needs, plan.ID{Device: boxAddr, Kind: kind, Name: name})
		}
		in.Items = append(in.Items, item)
	}
	return in, func() { d.Close(); p.end() }
}

// make plans, which changes nothing.
func (b *box) plan(t *testing.T, in plan.Input) *plan.Plan {
	t.Helper()
	before := b.all()
	p, err := plan.Make(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	if now := b.all(); now != before {
		t.Fatalf("to plan has changed the box from\n%s\nto\n%s", before, now)
	}
	return p
}

// apply has a new process plan and apply what is declared.
func (b *box) apply(t *testing.T, list []declared, change ...func(*plan.Input)) *plan.Plan {
	t.Helper()
	in, end := b.process(-1, "").input(fakehost(), list)
	defer end()
	for _, f := range change {
		f(&in)
	}
	p := b.plan(t, in)
	if _, err := plan.Apply(t.Context(), p, in); err != nil {
		t.Fatal(err)
	}
	return p
}

// clean says what a transaction has not put away.
func (b *box) clean() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.lease.Text != "" || len(b.fuses) > 0 || len(b.halves) > 0 {
		return fmt.Errorf("left: lease %q, fuses %v, halves %v", b.lease.Text, b.fuses, b.halves)
	}
	return nil
}

// holds fails unless the box is set so, and nothing is under way on it.
func (b *box) holds(t *testing.T, story, settings string) {
	t.Helper()
	if now := b.settings(); now != settings {
		t.Errorf("%s: the box holds\n%s\nwant\n%s", story, now, settings)
	}
	if err := b.clean(); err != nil {
		t.Errorf("%s: %v", story, err)
	}
}

// keeps fails unless these places of the vault hold something, and no others.
func (b *box) keeps(t *testing.T, story string, places ...string) {
	t.Helper()
	if have := slices.Sorted(maps.Keys(b.vault)); !slices.Equal(have, places) {
		t.Errorf("%s: the vault keeps %q, want %q", story, have, places)
	}
}

// idle fails unless there is nothing to do.
func (b *box) idle(t *testing.T, story string, list []declared, change ...func(*plan.Input)) {
	t.Helper()
	in, end := b.process(-1, "").input(fakehost(), list)
	defer end()
	for _, f := range change {
		f(&in)
	}
	if p := b.plan(t, in); !p.Empty() || len(p.Refusals) > 0 || len(p.Left) > 0 {
		t.Errorf("%s: planned again, there is %d to do, %v, %v", story, len(p.Steps), p.Refusals, p.Left)
	}
}

type boxLedger struct {
	OS      string
	Roster  []plan.Member
	Entries []plan.Entry
}

func (b *box) ledger(t *testing.T) (l boxLedger) {
	t.Helper()
	if err := json.Unmarshal([]byte(b.vault["vault:me.ledger"]), &l); err != nil {
		t.Fatalf("the ledger: %v", err)
	}
	return l
}

// A machine of another system goes the whole way that Linux goes: it is planned,
// applied, found as wanted, changed by others, pruned.
func TestAnotherSystemsLife(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBox()
		before := b.settings()
		p := b.apply(t, site())
		if len(p.Steps) != 4 { // three resources and the ledger
			t.Errorf("%d steps", len(p.Steps))
		}
		b.holds(t, "applied", settled)
		b.keeps(t, "applied", "vault:me.ledger", "vault:me.secrets")
		l := b.ledger(t)
		states := map[string]plan.EntryState{}
		for _, e := range l.Entries {
			states[e.Key()] = e.State
		}
		if want := map[string]plan.EntryState{"wire.left": "created", "note.old": "created", "note.new": "created", "wire.right": "adopted"}; l.OS != "fakehost" || !maps.Equal(states, want) {
			t.Errorf("the ledger of os %q has %v", l.OS, states)
		}
		if len(l.Roster) != 1 || l.Roster[0].OS != "fakehost" {
			t.Errorf("roster %v", l.Roster)
		}
		for _, secret := range []string{"swordfish", "tower", "sesame", "c3dvcmRmaXNo", "dG93ZXI=", "c2VzYW1l"} {
			if strings.Contains(b.vault["vault:me.ledger"], secret) {
				t.Errorf("the ledger holds %s", secret)
			}
		}
		b.idle(t, "applied", site())

		// Drift is seen, and put right.
		b.wires["left"] = 25
		in, end := b.process(-1, "").input(fakehost(), site())
		p = b.plan(t, in)
		end()
		if len(p.Steps) != 1 || !p.Steps[0].Drift {
			t.Errorf("drift is planned as %+v", p.Steps)
		}
		b.apply(t, site())
		b.holds(t, "after drift", settled)

		// What is declared no more goes back to what was there before, and what
		// another weft changed meanwhile stays.
		b.apply(t, site()[:1])
		b.holds(t, "pruned", strings.ReplaceAll(before, "wire left 10", "wire left 40"))
		b.idle(t, "pruned", site()[:1])
		b.wires["left"] = 33
		in, end = b.process(-1, "").input(fakehost(), nil)
		in.Destroy = true
		if p = b.plan(t, in); len(p.Left) != 1 {
			t.Errorf("of a wire that somebody turned: %+v", p.Left)
		}
		end()
		b.wires["left"] = 40
		b.apply(t, nil, func(in *plan.Input) { in.Destroy = true })
		b.holds(t, "destroyed", before)
		b.keeps(t, "destroyed")
	})
}

// A run is reverted to what it found, not to what was there before weft.
func TestAnotherSystemsRunIsReverted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBox()
		b.apply(t, []declared{aNote("old", "mine", "first"), aWire("right", 50)}, func(in *plan.Input) { in.Run = "run-1" })
		first := b.settings()
		p := b.apply(t, site(), func(in *plan.Input) { in.Run = "run-2" })
		b.holds(t, "run 2", settled[:len(settled)-2]+"10")
		b.apply(t, nil, func(in *plan.Input) {
			in.Run, in.Reverse = "run-2", &plan.Reversal{Run: "run-2", Steps: p.Steps}
		})
		b.holds(t, "run 2 reverted", first)
		b.idle(t, "run 2 reverted", []declared{aNote("old", "mine", "first"), aWire("right", 50)})
		b.apply(t, nil, func(in *plan.Input) { in.Destroy = true })
		b.holds(t, "destroyed", newBox().settings())
	})
}

// What a rollout does to a machine: the mark of its run stands there from before the
// first phase to the end, others are told, each phase is a part of the plan, and a
// phase is reverted.
func TestAnotherSystemsRollout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBox()
		before := b.settings()
		in, end := b.process(-1, "").input(fakehost(), site())
		defer end()
		in.Run = "run-1"
		mark := plan.Mark{Format: plan.MarkFormat, Run: "run-1", Owner: "me", Who: "me@laptop", Rollout: "rollout.r", Token: "t1"}
		all := b.plan(t, in)
		if left, err := in.SetMarks(t.Context(), mark, []string{boxAddr}); err != nil || left != nil {
			t.Fatal(left, err)
		}
		if !strings.Contains(b.vault[markAt], `"os":"fakehost"`) {
			t.Errorf("the mark is %s", b.vault[markAt])
		}
		in.Mark = &mark
		phase := func(kind string) *plan.Plan {
			return all.Part(func(s plan.PlannedStep) bool { return s.ID.Kind == kind || s.ID.Kind == plan.LedgerKind })
		}
		one, two := phase("wire"), phase("note")
		if _, err := plan.Apply(t.Context(), one, in); err != nil {
			t.Fatal(err)
		}
		b.holds(t, "phase 1", strings.ReplaceAll(before, "wire left 10", "wire left 40"))

		// Another user is refused, by name of the run, and changes nothing.
		other, otherEnd := b.process(-1, "").input(fakehost(), site())
		other.Mine = nil
		was := b.all()
		_, err := plan.Apply(t.Context(), b.plan(t, other), other)
		var held *plan.HeldError
		if !errors.As(err, &held) || held.Mark == nil || held.Mark.Run != "run-1" || b.all() != was {
			t.Errorf("%v; the box holds\n%s", err, b.all())
		}
		otherEnd()

		mark.Phase = "two"
		if _, err := plan.Apply(t.Context(), two, in); err != nil {
			t.Fatal(err)
		}
		b.holds(t, "phase 2", settled)
		if !strings.Contains(b.vault[markAt], `"phase":"two"`) {
			t.Errorf("the mark is %s", b.vault[markAt])
		}

		back := in
		back.Reverse = &plan.Reversal{Run: "run-1", Steps: two.Steps}
		if _, err := plan.Apply(t.Context(), b.plan(t, back), back); err != nil {
			t.Fatal(err)
		}
		b.holds(t, "phase 2 reverted", strings.ReplaceAll(before, "wire left 10", "wire left 40"))
		if left := in.ClearMarks(t.Context(), mark, []string{boxAddr}); left != nil || b.vault[markAt] != "" {
			t.Errorf("the mark is left: %v %s", left, b.vault[markAt])
		}
	})
}

// A box that nobody comes back to is put back by its own guard, and only what is risky.
func TestAnotherSystemsGuard(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBox()
		before := b.settings()
		p := b.process(8, killedBefore) // with the wire turned and one note changed
		in, end := p.input(fakehost(), site())
		if _, err := plan.Apply(t.Context(), b.plan(t, in), in); !errors.Is(err, errKilled) {
			t.Fatal(err)
		}
		end()
		if len(b.fuses) != 1 || b.settings() == before {
			t.Fatalf("fuses %v after %q", b.fuses, p.changes)
		}
		time.Sleep(11 * time.Minute)
		if now := b.settings(); !strings.Contains(now, "wire left 10") {
			t.Errorf("the guard left\n%s", now)
		}
		b.apply(t, site())
		b.holds(t, "after the guard", settled)
		b.apply(t, nil, func(in *plan.Input) { in.Destroy = true })
		b.holds(t, "destroyed", before)
	})
}
