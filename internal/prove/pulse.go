package prove

import (
	"cmp"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"weft/plan"
)

// beatInterval is the time between two signs of life.
const beatInterval = 10 * time.Second

// A pulse says now and then how much of what is measured is done.
type pulse struct {
	flows int
	done  atomic.Int64
	quit  chan struct{}
	beats sync.WaitGroup
}

// pulse begins to give signs of life, to whoever hears them, until end.
func (r *run) pulse(flows int) *pulse {
	p := &pulse{flows: flows, quit: make(chan struct{})}
	if r.in.Emit == nil || flows == 0 {
		return p
	}
	every := cmp.Or(r.in.beat, beatInterval)
	p.beats.Go(func() {
		tick := time.NewTicker(every)
		defer tick.Stop()
		for {
			select {
			case <-p.quit:
				return
			case now := <-tick.C:
				done := int(p.done.Load())
				r.in.Emit(plan.Event{Time: now, Type: plan.EventHeartbeat, Message: fmt.Sprintf("still measuring: %d of %d flows are done", done, p.flows),
					Data: map[string]any{"done": done, "flows": p.flows}})
			}
		}
	})
	return p
}

// end stops the signs and waits for the last one.
func (p *pulse) end() {
	close(p.quit)
	p.beats.Wait()
}
