package plan

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
	"weft/internal/hint"
)

// A markedDevice keeps marks in memory.
type markedDevice struct {
	*fakeDevice
	mark  *Mark
	fault func(call string) (before, after error) // what fails without having been done, or although it was
}

func (d *markedDevice) Capabilities() Capabilities { return Capabilities{Marks: true} }

func (d *markedDevice) Marks() []Mark {
	if d.mark == nil {
		return nil
	}
	return []Mark{*d.mark}
}

func (d *markedDevice) Mark(_ context.Context, m Mark, mine func(Mark) bool) error {
	before, after := d.faults("mark")
	if before != nil {
		return before
	}
	if d.mark != nil && !mine(*d.mark) {
		return NewMarkedError(d.address, *d.mark)
	}
	d.mark = &m
	return after
}

func (d *markedDevice) Unmark(_ context.Context, m Mark) error {
	before, after := d.faults("unmark")
	if before == nil && d.mark != nil && d.mark.Token == m.Token {
		d.mark = nil
	}
	return errors.Join(before, after)
}

func (d *markedDevice) ReadMarks(context.Context) ([]Mark, error) { return d.Marks(), nil }

func (d *markedDevice) BreakMark(ctx context.Context, m Mark) error { return d.Unmark(ctx, m) }

func (d *markedDevice) faults(call string) (before, after error) {
	if d.fault == nil {
		return nil, nil
	}
	return d.fault(call)
}

// markedWorld is n devices with one item each.
func markedWorld(n int) (*world, []*markedDevice, []string) {
	w := newWorld()
	var list []*markedDevice
	var names []string
	for i := range n {
		name := fmt.Sprintf("d%d", i)
		w.want(name+"/v.x", "1")
		d := &markedDevice{fakeDevice: w.device(name)}
		list, names = append(list, d), append(names, name)
	}
	for i, name := range names {
		w.devices[name] = list[i]
	}
	return w, list, names
}

func markOf(run string) Mark {
	return Mark{Format: MarkFormat, Run: run, Owner: "test", Who: "me@here", Token: "token of " + run}
}

// A device that takes no mark says that nothing was changed, and what to do.
func TestUnmarkable(t *testing.T) {
	w, devices, names := markedWorld(2)
	devices[1].fault = func(call string) (before, after error) {
		if call == "mark" {
			return errors.New("write /var/lib/weft/run.json: No space left on device"), nil
		}
		return nil, nil
	}
	in := w.input()
	_, err := in.SetMarks(within(t), markOf("mine"), names)
	if err == nil || !strings.HasPrefix(err.Error(), "nothing was changed") || !strings.HasSuffix(err.Error(), "mark d1 for the run: write /var/lib/weft/run.json: No space left on device") || !strings.Contains(hint.Of(err), "d1") {
		t.Errorf("%v, hint %q", err, hint.Of(err))
	}
}

// Whatever fails and whoever came first: either all devices carry the mark, or
// none but those that are named, and nobody else's mark is touched.
func TestSetMarks(t *testing.T) {
	for seed := range uint64(500) {
		rng := rand.New(rand.NewPCG(seed, 1))
		w, devices, names := markedWorld(1 + rng.IntN(5))
		theirs := map[string]Mark{}
		for _, d := range devices {
			if rng.IntN(12) == 0 {
				m := markOf("theirs")
				d.mark, theirs[d.address] = &m, m
				continue
			}
			bad := map[string]int{"mark": rng.IntN(10), "unmark": rng.IntN(6)}
			d.fault = func(call string) (before, after error) {
				switch bad[call] {
				case 0:
					return errors.New("the connection was lost"), nil
				case 1:
					return nil, errors.New("the answer was lost")
				}
				return nil, nil
			}
		}
		in := w.input()
		mine := markOf("mine")
		in.Mine = func(m Mark) bool { return m.Run == "mine" }
		left, err := in.SetMarks(within(t), mine, names)
		for _, d := range devices {
			if was, ok := theirs[d.address]; ok {
				if d.mark == nil || *d.mark != was {
					t.Errorf("seed %d: the mark of somebody else on %s is %v", seed, d.address, d.mark)
				}
				continue
			}
			stands := d.mark != nil
			if err == nil && !stands || err != nil && stands && !slices.Contains(left, d.address) {
				t.Errorf("seed %d: %s is marked: %t, and left are %v: %v", seed, d.address, stands, left, err)
			}
		}
		if len(theirs) > 0 && !errors.As(err, new(*HeldError)) {
			t.Errorf("seed %d: somebody else was first, and the error is %v", seed, err)
		}
	}
}

// What belongs to a run of another user is planned with a warning, and changed by
// nobody; so it is with a run of which the mark is gone.
func TestMarked(t *testing.T) {
	w, devices, names := markedWorld(2)
	in := w.input()
	theirs := Mark{Run: NewRunID(time.Date(2026, 11, 23, 5, 0, 0, 0, time.UTC)), Owner: "others", Who: "ann@laptop", Rollout: "rollout.all", Phase: "canary", Token: "t"}
	devices[0].mark = &theirs
	p := mustMake(t, within(t), in)
	warnings := strings.Join(p.Devices[0].Identity.Warnings, "\n")
	for _, part := range []string{theirs.Run, "owner others", "rollout.all", "ann@laptop", "2026-11-23 05:00 UTC", `"canary"`} {
		if !strings.Contains(warnings, part) {
			t.Errorf("%q does not tell %s", warnings, part)
		}
	}
	if len(p.Steps) != 2 || len(p.Devices[1].Identity.Warnings) > 0 {
		t.Errorf("%d steps, %q", len(p.Steps), p.Devices[1].Identity.Warnings)
	}
	untouched := func(what string, res *Result, err error) {
		t.Helper()
		if held := new(HeldError); !errors.As(err, &held) || res.Outcome() != RunNothingChanged || w.called("begin") > 0 {
			t.Errorf("%s: %s, %v", what, res.Outcome(), err)
		}
	}
	res, err := Apply(within(t), p, in)
	untouched("somebody else's run", res, err)

	// On a device on which nothing is changed the run of another owner is no matter;
	// one of the same owner is.
	only := p.Part(func(s PlannedStep) bool { return s.ID.Device == names[1] })
	if err := in.Held(only); err != nil {
		t.Errorf("the part that changes another device: %v", err)
	}
	same := theirs
	same.Owner = "test"
	devices[0].mark = &same
	whole := *p
	whole.Steps = only.Steps
	if err := in.Held(&whole); !errors.As(err, new(*HeldError)) {
		t.Errorf("a second run of the owner: %v", err)
	}

	mine := markOf("mine")
	in.Mark, in.Mine = &mine, func(m Mark) bool { return m.Run == "mine" }
	devices[0].mark = nil
	res, err = Apply(within(t), p, in)
	untouched("the mark is gone", res, err)
	if _, err := in.SetMarks(within(t), mine, names); err != nil {
		t.Fatal(err)
	}
	if _, err := Apply(within(t), p, in); err != nil {
		t.Error(err)
	}
	if left := in.ClearMarks(within(t), mine, names); left != nil || devices[0].mark != nil || devices[1].mark != nil {
		t.Errorf("left are %v", left)
	}
}
