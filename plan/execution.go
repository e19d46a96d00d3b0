package plan

import (
	"context"
	"slices"
	"sync"
	"time"

	"weft/internal/slice"
)

// An execution carries out the steps that are left to do.
//
// It cannot deadlock. A step waits only for steps that stand before it in the
// plan's order, so the first unfinished step of that order never waits. A
// device that has applied its steps waits, before it commits, for the devices
// it needs to have applied theirs, which is waiting for steps again; and for
// those of them to have committed whose last step stands before its own last
// step, so that waiting for commits follows an order too. A device that fails
// finishes all its steps as skipped and wakes those who wait for it. Nobody
// holds a slot or a turn while waiting, and rollbacks have slots of their own, so that
// devices that hang cannot keep others from being reverted.
type execution struct {
	in      *Input
	beat    *pulse
	journal *journal
	slots   chan struct{} // one token for each device that is being worked on
	aborts  chan struct{} // one token for each rollback
	runs    []*deviceRun  // by wave, then in the order of their first steps
}

// A stepRun is a step on its way. Its device's goroutine owns it; others read
// applied after done is closed.
type stepRun struct {
	Step
	place   string // in the HCL
	device  *deviceRun
	needs   []*stepRun
	done    chan struct{} // closed when it was applied or never will be
	applied bool
	settled bool // done is closed
	outcome StepOutcome
	err     error
}

func newExecution(in *Input, beat *pulse) *execution {
	return &execution{
		in: in, beat: beat,
		journal: &journal{w: in.Journal, now: in.Now, simulated: in.Simulated},
		slots:   make(chan struct{}, in.Parallelism),
		aborts:  make(chan struct{}, in.Parallelism),
	}
}

// schedule gives each device its steps and each step what it needs. Steps with
// nothing left to do pass their needs on to those who need them.
func (x *execution) schedule(p *Plan, s *survey, g *graph, live []*finding) {
	isLive := func(n int) bool { return live[n] != nil }
	needs := g.contract(isLive)
	items := make(map[ID]Item, len(s.items))
	for _, item := range s.items {
		items[item.ID] = item
	}
	type transaction struct {
		device string
		wave   int
	}
	runs := make(map[transaction]*deviceRun, len(s.devices))
	wave := waves(p.Steps, needs, items, isLive)
	steps := make([]*stepRun, len(p.Steps))
	for n, planned := range p.Steps {
		if !isLive(n) {
			continue
		}
		of := transaction{planned.ID.Device, wave[n]}
		run := runs[of]
		if run == nil {
			run = newDeviceRun(x, of.device, x.in.Devices[of.device])
			run.wave = of.wave
			runs[of] = run
			x.runs = append(x.runs, run)
		}
		item := items[planned.ID]
		step := &stepRun{
			Step: Step{ID: planned.ID, Resource: item.Resource, Have: live[n].have, Diff: live[n].diff,
				Needs: item.rests, Place: place(item.Range), Protect: item.Protect, Prune: item.Prunes(),
				Reverse: item.reverse, Run: x.in.Run, Mark: x.in.Mark},
			place:   place(planned.Range),
			device:  run,
			done:    make(chan struct{}),
			outcome: StepSkipped,
		}
		step.needs = slice.Map(needs[n], func(m int) *stepRun { return steps[m] })
		steps[n] = step
		run.steps = append(run.steps, step)
		run.rank = n
	}
	slices.SortStableFunc(x.runs, func(a, b *deviceRun) int { return a.wave - b.wave })
	latest := make(map[string]*deviceRun, len(s.devices))
	turns := newTurns(x.in)
	for _, run := range x.runs {
		run.earlier = latest[run.address]
		latest[run.address] = run
		run.listNeeds()
		if slices.ContainsFunc(run.steps, x.in.interrupts) {
			run.turns = turns
		}
	}
}

// run works on all devices, wave by wave, and returns when all have ended.
func (x *execution) run(ctx context.Context) {
	for rest := x.runs; len(rest) > 0; {
		var devices sync.WaitGroup
		wave := rest[0].wave
		for len(rest) > 0 && rest[0].wave == wave {
			r := rest[0]
			rest = rest[1:]
			devices.Go(func() { r.run(ctx) })
		}
		devices.Wait()
	}
}

// listNeeds lists, for each other device that this one needs, one step that
// it needs there.
func (r *deviceRun) listNeeds() {
	seen := map[*deviceRun]bool{r: true}
	for _, s := range r.steps {
		for _, need := range s.needs {
			if !seen[need.device] {
				seen[need.device] = true
				r.needs = append(r.needs, need)
			}
		}
	}
}

// stopGrace is how long a call to a device may go on after the run was told to
// stop, and how long putting a device back may take. It is generous: cutting
// either short leaves a device in a state that nobody has proven.
const stopGrace = 10 * time.Minute

// outlive returns a context that ends stopGrace after ctx does. cancel must be
// called.
func outlive(ctx context.Context) (_ context.Context, cancel func()) {
	out, end := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		timer := time.AfterFunc(stopGrace, end)
		context.AfterFunc(out, func() { timer.Stop() })
	})
	return out, func() {
		stop()
		end()
	}
}
