package host_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"weft/plan"
)

// Wherever an apply is cut off, in whichever way: what it says of the box is so, the
// next one converges, and all of it goes back to what was there before.
func TestAnotherSystemIsCutAnywhere(t *testing.T) {
	t.Parallel()
	for _, how := range []cutting{killedBefore, killedAfter, lostBefore, lostAfter, cancelled} {
		for _, wait := range []time.Duration{0, 11 * time.Minute} { // in which a guard fires
			for cut, more := 0, true; more && cut < 100; cut++ {
				synctest.Test(t, func(t *testing.T) { more = cutOnce(t, cut, how, wait, newBox(), site()) })
			}
		}
	}
}

// The same where weft was there before: what is changed, pruned and made again.
func TestAnotherSystemIsCutLater(t *testing.T) {
	t.Parallel()
	before := []declared{aNote("old", "mine", "first"), aNote("gone", "soon", "away"), aWire("right", 50)}
	for _, how := range []cutting{killedBefore, killedAfter, lostBefore, lostAfter, cancelled} {
		for cut, more := 0, true; more && cut < 100; cut++ {
			synctest.Test(t, func(t *testing.T) {
				b := newBox()
				b.apply(t, before)
				more = cutOnce(t, cut, how, 0, b, site())
			})
		}
	}
}

// A run that is being reverted when it is cut off is reverted by asking again.
func TestAnotherSystemsRevertIsCut(t *testing.T) {
	t.Parallel()
	before := []declared{aNote("old", "mine", "first"), aNote("gone", "soon", ""), aWire("right", 50)}
	for _, how := range []cutting{killedBefore, killedAfter, lostBefore, lostAfter, cancelled} {
		for cut, more := 0, true; more && cut < 100; cut++ {
			synctest.Test(t, func(t *testing.T) {
				b := newBox()
				b.apply(t, before, func(in *plan.Input) { in.Run = "run-1" })
				first := b.settings()
				done := b.apply(t, site(), func(in *plan.Input) { in.Run = "run-2" })
				reverse := func(in *plan.Input) {
					in.Run, in.Reverse = "run-2", &plan.Reversal{Run: "run-2", Steps: done.Steps}
				}
				p := b.process(cut, how)
				in, end := p.input(fakehost(), nil)
				reverse(&in)
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				p.cancel = cancel
				_, _ = plan.Apply(ctx, b.plan(t, in), in)
				end()
				more = len(p.changes) > cut
				b.apply(t, nil, reverse)
				story := fmt.Sprintf("%s %d of %q", how, cut, p.changes)
				b.holds(t, story, first)
				b.idle(t, story, before)
				b.apply(t, nil, func(in *plan.Input) { in.Destroy = true })
				b.holds(t, story+", destroyed", newBox().settings())
				b.keeps(t, story+", destroyed")
			})
		}
	}
}

// cutOnce reports whether there was a change to be cut at.
func cutOnce(t *testing.T, cut int, how cutting, wait time.Duration, b *box, list []declared) bool {
	first, before := newBox().settings(), b.settings()
	p := b.process(-1, how)
	in, end := p.input(fakehost(), list)
	planned := b.plan(t, in)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	p.cut, p.cancel = cut, cancel
	res, err := plan.Apply(ctx, planned, in)
	end()
	if len(p.changes) <= cut {
		if err != nil {
			t.Errorf("without a cut: %v", err)
		}
		b.holds(t, "without a cut", settled)
		return false
	}
	story := fmt.Sprintf("%s %d: %s", how, cut, p.changes[cut])
	switch now, said := b.settings(), res.Outcome(); {
	case p.dead: // nobody was told anything
	case said == plan.RunDone && now != settled,
		(said == plan.RunRolledBack || said == plan.RunNothingChanged) && now != before:
		t.Errorf("%s: weft says %s (%v), the box holds\n%s", story, said, err, now)
	case said == plan.RunChanged && how == cancelled && now == settled: // and weft came to verify nothing
	case said == plan.RunChanged:
		t.Errorf("%s: a box that can be reached is left: %v", story, err)
	case said != plan.RunDone:
		if b.lease.Text != "" || len(b.fuses) > 0 { // halves are swept by the next one
			t.Errorf("%s: weft says %s (%v) and leaves %v %v", story, said, err, b.lease, b.fuses)
		}
	}
	time.Sleep(wait)
	again := b.apply(t, list)
	b.holds(t, story+", applied again", settled)
	b.idle(t, story+", applied again", list)
	for _, e := range b.ledger(t).Entries {
		if e.State == plan.EntryCreating && !again.Empty() {
			t.Errorf("%s: %s is not settled in the ledger", story, e.Key())
		}
	}
	b.apply(t, nil, func(in *plan.Input) { in.Destroy = true })
	b.holds(t, story+", destroyed", first)
	b.keeps(t, story+", destroyed")
	if t.Failed() {
		t.Logf("%s: the changes were\n%s", story, strings.Join(p.changes, "\n"))
	}
	return true
}
