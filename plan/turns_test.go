package plan

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
)

// inTurn says which devices must take turns when the plan is carried out.
func inTurn(p *Plan, w *world, in Input) func(string) bool {
	at := map[string]bool{}
	for _, item := range w.items {
		for _, s := range p.Steps {
			if s.ID == item.ID && (item.Resource.(*fakeResource).alone || in.Unavailable > 0 && s.Impact() > ImpactNone) {
				at[s.ID.Device] = true
			}
		}
	}
	return func(device string) bool { return at[device] }
}

// checkTurns: no more devices than may be are disturbed at once, also while
// they are put back; and where one at a time is, none begins once too many have
// failed.
func checkTurns(t *testing.T, w *world, in Input) {
	t.Helper()
	places := max(in.Unavailable, 1)
	if w.most > places || w.inside != 0 {
		t.Errorf("%d devices were disturbed at once, %d may be; %d still are", w.most, places, w.inside)
	}
	if places > 1 {
		return
	}
	var failed []string
	for _, call := range w.calls {
		what, id, _ := strings.Cut(call, " ")
		device, _, _ := strings.Cut(id, "/")
		if !w.turns(device) {
			continue
		}
		if what == "begin" && len(failed) > in.Failures {
			t.Errorf("%s was begun after %v had failed", device, failed)
		}
		if what != "abort" && what != "verify" && slices.Contains(w.faults, call) {
			failed = append(failed, device)
		}
	}
}

// turning is targets that restart, t0 to t2, and plain devices, p0 to p3.
func turning() *world {
	w := newWorld()
	for _, id := range []string{"t0/v.x", "p0/v.x", "t1/v.x", "p1/v.x", "p2/v.x", "t2/v.x", "p3/v.x"} {
		r := w.want(id, "new")
		r.alone = id[0] == 't'
		r.impact = ImpactTraffic
	}
	w.turns = func(device string) bool { return device[0] == 't' }
	return w
}

// Devices that restart a target follow one another; all others are worked on
// together, and while one of those restarts.
func TestOnlyThoseThatRestartTakeTurns(t *testing.T) {
	ctx, w := within(t), turning()
	in := w.input()
	in.Parallelism = 16
	p := mustMake(t, ctx, in)

	var together sync.WaitGroup // all plain devices and the first target are at work
	together.Add(5)
	var first sync.Once
	w.during = func(call string) {
		switch {
		case strings.HasPrefix(call, "apply p"):
			together.Done()
		case strings.HasPrefix(call, "apply t"):
			first.Do(together.Done)
		default:
			return
		}
		together.Wait()
	}
	if res, err := Apply(ctx, p, in); err != nil {
		t.Fatal(err, outcomes(res))
	}
	checkTurns(t, w, in)
	if w.most != 1 {
		t.Errorf("%d targets at once", w.most)
	}
}

// In a rollout as many devices are disturbed at once as may be, whatever it is
// that disturbs, and no more.
func TestUnavailable(t *testing.T) {
	ctx, w := within(t), turning()
	in := w.input()
	in.Parallelism, in.Unavailable = 16, 2
	w.turns = func(string) bool { return true } // all have an impact
	p := mustMake(t, ctx, in)
	var pair sync.WaitGroup
	pair.Add(2)
	var mu sync.Mutex
	n := 0
	w.during = func(call string) {
		if !strings.HasPrefix(call, "begin ") {
			return
		}
		mu.Lock()
		n++
		of := n
		mu.Unlock()
		if of <= 2 {
			pair.Done()
			pair.Wait() // for ever, if they came one after the other
		}
	}
	if res, err := Apply(ctx, p, in); err != nil {
		t.Fatal(err, outcomes(res))
	}
	if w.most != 2 {
		t.Errorf("%d devices were disturbed at once, two may be", w.most)
	}
}

// After a target that failed none is begun; what interrupts nobody goes on. With
// failures that are borne, the next one has its turn.
func TestFailureEndsTheTurns(t *testing.T) {
	for failures, begun := range []int{1, 2, 3} {
		ctx, w := within(t), turning()
		in := w.input()
		in.Parallelism, in.Failures = 16, failures
		p := mustMake(t, ctx, in)
		w.failOn("apply t")
		res, err := Apply(ctx, p, in)
		if err == nil || strings.Contains(err.Error(), "after that no other") {
			t.Errorf("%d failures borne: the error is %v, not the cause", failures, err)
		}
		if got := w.called("begin t"); got != begun {
			t.Errorf("%d failures borne: %d targets were begun, %v", failures, got, outcomes(res))
		}
		held := 0
		for _, d := range res.Devices {
			switch {
			case d.Device[0] == 'p' && d.Outcome != DeviceChanged:
				t.Errorf("%s is %s: %v", d.Device, d.Outcome, d.Err)
			case d.Device[0] == 't' && d.Outcome == DeviceUnchanged:
				held++
				if !strings.Contains(d.Err.Error(), "after that no other device is begun") {
					t.Errorf("%s: %v", d.Device, d.Err)
				}
			}
		}
		if held != 3-begun {
			t.Errorf("%d failures borne: %d targets were held back", failures, held)
		}
		checkTurns(t, w, in)
	}
}

// Targets that need each other's later steps do not lock each other out.
func TestTurnsOfThoseThatNeedEachOther(t *testing.T) {
	ctx, w := within(t), newWorld()
	for _, pair := range [][2]string{{"a", "b"}, {"b", "a"}} {
		w.want(pair[0]+"/v.target", "new").alone = true
		w.want(pair[0]+"/v.connection", "new", pair[1]+"/v.target")
	}
	w.turns = func(string) bool { return true }
	in := w.input()
	if res, err := Apply(ctx, mustMake(t, ctx, in), in); err != nil {
		t.Fatal(err, outcomes(res))
	}
	checkTurns(t, w, in)
}

// Whoever waits for a turn when the run is stopped begins nothing.
func TestStopWhileWaitingForATurn(t *testing.T) {
	ctx, w := within(t), turning()
	in := w.input()
	in.Parallelism = 16
	p := mustMake(t, ctx, in)
	run, stop := context.WithCancel(ctx)
	defer stop()
	w.during = func(call string) {
		if strings.HasPrefix(call, "apply t") {
			stop()
		}
	}
	if _, err := Apply(run, p, in); err == nil {
		t.Error("a run that was stopped has no error")
	}
	if n := w.called("begin t"); n != 1 {
		t.Errorf("%d targets were begun", n)
	}
	if w.inside != 0 || w.most != 1 {
		t.Errorf("%d at once, %d still", w.most, w.inside)
	}
}
