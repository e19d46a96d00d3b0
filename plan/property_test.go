package plan

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"maps"
	"math/rand/v2"
	"sync/atomic"
	"testing"
)

// randomWorld has up to six devices with up to thirty items that need each
// other in any way that is no cycle; some are as declared already.
func randomWorld(rng *rand.Rand) *world {
	w := newWorld()
	type draft struct {
		id    string
		needs []string
	}
	n, devices := rng.IntN(31), 1+rng.IntN(6)
	drafts := make([]draft, n)
	rank := rng.Perm(n) // the input order is not the order of the needs
	for r, i := range rank {
		d := fmt.Sprintf("d%d", rng.IntN(devices))
		drafts[i].id = fmt.Sprintf("%s/v.%d", d, i)
		for range rng.IntN(3) {
			if r > 0 {
				drafts[i].needs = append(drafts[i].needs, drafts[rank[rng.IntN(r)]].id)
			}
		}
	}
	for _, d := range drafts {
		value := []string{"", "1", "2"}[rng.IntN(3)]
		res := w.want(d.id, value, d.needs...)
		res.alone, res.impact = rng.IntN(4) == 0, Impact(rng.IntN(2))
		if have := []string{"", "1", "2"}[rng.IntN(3)]; have != "" {
			res.device.values[res.key()] = have
		}
	}
	return w
}

// randomFaults makes calls fail that change something, each with the same fate
// however the goroutines run, and may stop the run at some call.
func randomFaults(rng *rand.Rand, cancel func()) func(string, int) error {
	salt, percent, stopAt := rng.Uint64(), rng.Uint64N(30), rng.IntN(60)
	calls := 0
	return func(call string, nth int) error {
		if calls++; calls == stopAt {
			cancel()
		}
		h := fnv.New64a()
		fmt.Fprint(h, salt, call, nth)
		if call[:4] == "open" || call[:4] == "read" || h.Sum64()%100 >= percent {
			return nil
		}
		return errors.New("fault: " + call)
	}
}

// Any graph, any devices, any failures: nothing outside the plan, nothing
// before what it needs, what is said about each device is true, nothing hangs,
// and without the faults the next run brings everything about.
func TestApplyProperties(t *testing.T) {
	seen := map[RunOutcome]int{}
	for seed := range uint64(400) {
		ok := t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(seed, 2))
			ctx, w := within(t), randomWorld(rng)
			in := w.input()
			in.Parallelism = 1 + rng.IntN(4)
			in.Unavailable, in.Failures = rng.IntN(3), rng.IntN(2)
			p := mustMake(t, ctx, in)
			w.turns = inTurn(p, w, in)
			before := w.snapshot()
			run, cancel := context.WithCancel(ctx)
			defer cancel()
			w.fault = randomFaults(rng, cancel)
			in.Pause = randomPause(rng)
			res, err := Apply(run, p, in)
			in.Pause = nil
			if (err == nil) != (res.Outcome() == RunDone) {
				t.Errorf("outcome %s, error %v", res.Outcome(), err)
			}
			seen[res.Outcome()]++
			checkApplied(t, w, p)
			checkResult(t, w, p, res, before)
			checkTurns(t, w, in)

			w.fault = nil
			if res, err = Apply(ctx, mustMake(t, ctx, in), in); err != nil {
				t.Errorf("without faults: %v, %v", err, outcomes(res))
			}
			if p = mustMake(t, ctx, in); !p.Empty() {
				t.Errorf("not converged: %+v", p.Steps)
			}
		})
		if !ok {
			return
		}
	}
	for _, o := range []RunOutcome{RunDone, RunNothingChanged, RunRolledBack, RunChanged} {
		if seen[o] < 10 {
			t.Errorf("only %d runs ended as %s: the test has lost its grip", seen[o], o)
		}
	}
}

// randomPause asks for a pause once so many devices are about to begin, or never.
func randomPause(rng *rand.Rand) func() bool {
	if rng.IntN(3) > 0 {
		return nil
	}
	var begun atomic.Int32
	after := int32(rng.IntN(4))
	return func() bool { return begun.Add(1) > after }
}

func (w *world) snapshot() map[string]map[string]string {
	all := map[string]map[string]string{}
	for address, d := range w.devices {
		all[address] = maps.Clone(d.(*fakeDevice).values)
	}
	return all
}

// checkApplied: everything applied is in the plan, once, and what it needs was
// applied before.
func checkApplied(t *testing.T, w *world, p *Plan) {
	steps := map[ID]PlannedStep{}
	for _, s := range p.Steps {
		steps[s.ID] = s
	}
	done := map[ID]bool{}
	for _, id := range w.applied {
		s, ok := steps[id]
		if !ok || done[id] {
			t.Errorf("%s is not in the plan, or was applied twice", id)
		}
		done[id] = true
		for _, need := range s.Needs {
			if !done[need] {
				t.Errorf("%s was applied before %s, which it needs", id, need)
			}
		}
	}
}

// checkResult: what the result says about each device is so.
func checkResult(t *testing.T, w *world, p *Plan, res *Result, before map[string]map[string]string) {
	want, last := map[ID]string{}, map[string]int{}
	for _, item := range w.items {
		want[item.ID] = item.Resource.(*fakeResource).value
	}
	for n, s := range p.Steps {
		last[s.ID.Device] = n
	}
	kept := map[string]bool{}
	for _, d := range res.Devices {
		kept[d.Device] = d.Outcome == DeviceChanged
		values := w.device(d.Device).values
		switch d.Outcome {
		case DeviceUnchanged, DeviceRolledBack:
			if !maps.Equal(values, before[d.Device]) {
				t.Errorf("%s is %s, but went from %v to %v", d.Device, d.Outcome, before[d.Device], values)
			}
		case DeviceChanged:
			for _, s := range d.Steps {
				if got := values[s.ID.Kind+"."+s.ID.Name]; got != want[s.ID] {
					t.Errorf("%s is changed, but %s is %q", d.Device, s.ID, got)
				}
			}
		case DeviceUnknown:
			if w.called("abort "+d.Device) == 0 {
				t.Errorf("%s is unknown without having been put back", d.Device)
			}
		}
	}
	// Less, never more: what is kept rests on what is kept. Only devices that
	// need each other cannot both wait for the other's commit.
	for _, s := range p.Steps {
		for _, need := range s.Needs {
			if kept[s.ID.Device] && !kept[need.Device] && last[need.Device] < last[s.ID.Device] {
				t.Errorf("%s is kept, %s, which it needs, is not", s.ID, need)
			}
		}
	}
}
