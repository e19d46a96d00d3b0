package run

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"weft/internal/prove"
	"weft/internal/remote"
	"weft/internal/view"
	"weft/inventory"
	"weft/modules/host"
	"weft/plan"
	"weft/plan/rollout"
)

// guardEvery is the time between two looks at devices while others are changed.
// A look that takes long has longer pauses, so that it is no load to speak of.
const guardEvery = 5 * time.Second

// A guard looks at what is rolled out already while a part of the plan is
// carried out. It works beside plan.Apply and asks no device that Apply is busy
// with; those it asks once Apply has ended.
type guard struct {
	run    *staged
	phase  *rollout.PhaseRun
	looks  *prove.Guard // nil: there is nothing to look at
	busy   map[string]bool
	alarm  atomic.Pointer[rollout.Alarm]
	quit   chan struct{}
	looker sync.WaitGroup
}

// guard begins to look.
func (s *staged) guard(ctx context.Context, part *plan.Plan) *guard {
	g := &guard{run: s, phase: s.current(), busy: map[string]bool{}, quit: make(chan struct{})}
	for _, step := range part.Steps {
		g.busy[step.ID.Device] = true
	}
	in := prove.Input{Model: s.site.Model, Switch: s.site.counted, Ready: s.left(s.run.Done()).ready, Paths: s.site.livePaths}
	for _, p := range s.spec.Phases {
		if g.phase != nil && p.Name == g.phase.Name {
			in.Names = p.Gate
		}
	}
	looks, err := prove.NewGuard(ctx, in)
	if err != nil || looks == nil {
		return g // what the gate names is judged there
	}
	g.looks = looks
	g.looker.Go(func() {
		for wait := guardEvery; !g.failed(); {
			select {
			case <-g.quit:
				return
			case <-ctx.Done():
				return
			case <-time.After(wait):
			}
			begun := time.Now()
			g.look(ctx, looks.Look, func(device string) bool { return !g.busy[device] })
			wait = max(guardEvery, 4*time.Since(begun))
		}
	})
	return g
}

// raised reports whether there is an alarm.
func (g *guard) raised() bool { return g.alarm.Load() != nil }

// failed reports whether there is one that nothing could make worse.
func (g *guard) failed() bool {
	alarm := g.alarm.Load()
	return alarm != nil && alarm.Verdict == rollout.Fail
}

// end looks once more, at everything but servers on which it failed, which has
// been said, and returns the alarm; nil: there is none.
func (g *guard) end(ctx context.Context, res *plan.Result) error {
	close(g.quit)
	g.looker.Wait()
	if g.looks != nil && ctx.Err() == nil && !g.raised() {
		failed := map[string]bool{}
		for _, d := range res.Devices {
			failed[d.Device] = d.Err != nil
		}
		for _, sw := range g.run.site.Model.Switches { // what they have counted tells more
			delete(failed, sw.Addr)
		}
		g.look(ctx, g.looks.Last, func(device string) bool { return !failed[device] })
	}
	if alarm := g.alarm.Load(); alarm != nil {
		return alarm
	}
	return nil
}

// look keeps what it sees in the timeline of the run, and raises the alarm.
func (g *guard) look(ctx context.Context, ask func(context.Context, func(string) bool) []prove.Judgement, free func(device string) bool) {
	list := slices.DeleteFunc(ask(ctx, free), func(j prove.Judgement) bool {
		return g.run.env.spares(j)
	})
	if len(list) == 0 {
		return
	}
	res := &prove.Result{}
	res.Add(&prove.Result{Judgements: list})
	if g.phase != nil {
		if err := g.run.sampled(context.WithoutCancel(ctx), Kept{Phase: g.phase.Name, Time: time.Now().UTC(), Files: SumOf(g.run.site.Model), Result: res}); err != nil {
			g.run.env.emit(plan.Event{Type: plan.EventNote, Level: "warn", Message: err.Error()})
		}
	}
	if res.Verdict == prove.Pass || res.Verdict == prove.Inconclusive && g.raised() {
		return
	}
	i := slices.IndexFunc(list, func(j prove.Judgement) bool { return j.Verdict == res.Verdict })
	g.alarm.Store(&rollout.Alarm{Verdict: rollout.Verdict(res.Verdict), Why: view.Judged(list[i])})
	g.run.env.emit(plan.Event{Type: plan.EventGate, Level: "error", Message: fmt.Sprintf("nothing more is begun: %s", view.Judged(list[i])),
		Data: map[string]any{"judgement": list[i]}})
}

// livePaths asks a server over the connection that it is read and changed over,
// where there is one. Where that was lost meanwhile the server may still answer.
func (s *Site) livePaths(ctx context.Context, server *inventory.Server) ([]prove.Path, error) {
	os, err := s.system(server, host.Probing)
	if err != nil {
		return nil, err
	}
	ask := func() (live []host.LivePath, lost bool, err error) {
		login, end, err := s.dial(server)(ctx, false)
		if err != nil {
			return nil, false, err
		}
		defer end()
		live, err = os.Probe.Live(ctx, login)
		return live, errors.As(err, new(*remote.UnreachableError)), err
	}
	live, lost, err := ask()
	if lost && ctx.Err() == nil {
		live, _, err = ask()
	}
	out := make([]prove.Path, len(live))
	for i, l := range live {
		out[i] = prove.Path{Host: l.HostNQN, Subsystem: l.NQN, Address: l.Address}
	}
	return out, err
}
