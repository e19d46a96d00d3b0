package prove

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"weft/internal/agent"
	"weft/internal/latency"
	"weft/internal/metric"
	"weft/internal/slice"
	"weft/internal/wait"
	"weft/inventory"
	"weft/plan"
)

// compare measures what is to be compared, in rounds in which no server carries two
// pairs, and what was there before when they are through.
func (r *run) compare(ctx context.Context, w *comparing) []*Comparison {
	list, last := r.contests(w), r.former(w)
	flows := slice.Map(list, func(c *contest) flow { return c.flow })
	beat := r.pulse(len(list) + len(last))
	defer beat.end()
	do := func(c *contest) {
		r.contest(ctx, c)
		beat.done.Add(1)
	}
	for _, round := range rounds(flows) {
		var wg sync.WaitGroup
		for _, i := range round {
			wg.Go(func() { do(list[i]) })
		}
		wg.Wait()
	}
	var out []*Comparison
	for _, c := range last {
		do(c)
	}
	out = slice.Map(slices.Concat(list, last), func(c *contest) *Comparison { return c.Comparison })
	return out
}

// contest measures all ways of a comparison, block by block, in another order each
// time. A way that fails is not tried again.
func (r *run) contest(ctx context.Context, c *contest) {
	for _, way := range c.ways {
		way.hist = latency.New()
	}
	c.rest = map[*inventory.Server]float64{}
	r.rest(ctx, c)
	for range CompareBlocks {
		for _, i := range rand.Perm(len(c.ways)) {
			if way := c.ways[i]; way.Why == "" && ctx.Err() == nil {
				r.block(ctx, way)
			}
		}
	}
	r.rest(ctx, c)
	for _, way := range c.ways {
		way.conclude(c.rest)
	}
	if ctx.Err() == nil {
		r.emitCompared(c.Comparison)
	}
}

// rest looks how busy the ends of all ways are while nothing is asked of them.
func (r *run) rest(ctx context.Context, c *contest) {
	silent, looked := map[*inventory.Server]string{}, map[*inventory.Server]bool{}
	for _, way := range c.ways {
		for _, s := range way.ends {
			if way.CPUWhy != "" || way.Why != "" {
				break
			}
			if !looked[s] {
				looked[s] = true
				share, err := r.resting(ctx, s, restFor(c.Runtime))
				if err != nil {
					silent[s] = err.Error()
				}
				c.rest[s] = max(c.rest[s], share)
			}
			way.CPUWhy = silent[s]
		}
	}
}

// restFor is how long the ends are looked at while nothing is asked of them: longer than under
// load. The question itself, a command over SSH, takes a slow machine a tenth of a second, which
// is 5 % of two seconds; what else the machine does is the same share of a longer time.
func restFor(runtime time.Duration) time.Duration {
	return max(runtime, min(5*runtime, 10*time.Second))
}

// block measures a way once: how busy both ends are while its program connects, reads
// once and waits; how long reads take; and what goes with many under way.
func (r *run) block(ctx context.Context, way *contender) {
	host, err := r.hosts.of(ctx, way.from)
	if err != nil {
		way.Why = err.Error()
		return
	}
	read := func(q agent.ReadRequest) *agent.ProbeResult {
		p, err := probed(ask(ctx, host, agent.Request{Read: &q}))
		switch {
		case err != nil:
			way.Why = err.Error()
		case p.Errors > 0:
			way.Errors, way.Why = way.Errors+p.Errors, p.FirstErr
		case p.Samples < q.Samples:
			way.Why = fmt.Sprintf("%d of %d reads", p.Samples, q.Samples)
		}
		return p
	}
	var idle []busyness
	if way.CPUWhy == "" {
		idle = r.spend(ctx, way, func() {
			one := way.read
			one.Samples, one.Warmup = 1, 0
			if read(one); way.Why == "" {
				way.Why = waited(ctx, way.load.Runtime)
			}
		})
	}
	if way.Why != "" {
		return
	}
	p := read(way.read)
	if way.Why != "" {
		return
	}
	h := decoded(p.Histogram)
	var reply *agent.Reply
	busy := r.spend(ctx, way, func() {
		load := way.load
		if reply, err = ask(ctx, host, agent.Request{Load: &load}); err != nil {
			way.Why = err.Error()
		}
	})
	if way.Why != "" || !way.took(reply) {
		return
	}
	b := Block{P99: metric.QuantilesOf(h).P99, IOPS: reply.Load.IOPS, BitsPerSec: reply.Load.BytesPerSec * 8}
	if way.CPUWhy == "" {
		b.CPU = way.cost(idle, busy, reply.Load)
	}
	way.hist.Merge(h)
	way.Samples += p.Samples
	way.Blocks = append(way.Blocks, b)
}

// waited waits; it says why not for so long.
func waited(ctx context.Context, d time.Duration) string {
	if !wait.For(ctx, d) {
		return context.Cause(ctx).Error()
	}
	return ""
}

// spend has something done, and says what the machines at the ends of a way have done
// meanwhile, in their order. Where one does not say, that is noted.
func (r *run) spend(ctx context.Context, way *contender, do func()) []busyness {
	look := func() []busyness {
		all := make([]busyness, len(way.ends))
		for i, s := range way.ends {
			if way.CPUWhy != "" {
				break
			}
			var err error
			if all[i], err = r.busyness(ctx, s); err != nil {
				way.CPUWhy = err.Error()
			}
		}
		return all
	}
	before := look()
	do()
	after := look()
	for i := range after {
		after[i] = after[i].less(before[i])
	}
	return after
}

// took notes what a reply says; it is false where that is no result.
func (way *contender) took(reply *agent.Reply) bool {
	l := reply.Load
	switch {
	case l == nil:
		way.Why = unanswered(reply).Error()
	case l.Failed > 0:
		way.Errors, way.Why = way.Errors+l.Failed, unanswered(reply).Error()
	case l.Reads == 0:
		way.Why = "not a single read ended"
	default:
		way.Mode = l.Mode
		return true
	}
	return false
}

// cost is the processor time of both ends for a gigabit, in microseconds: what they were
// busy for under load, less what they are without.
func (way *contender) cost(idle, busy []busyness, l *agent.LoadResult) float64 {
	ticks := 0.0
	for i := range way.ends {
		ticks += float64(busy[i].busy) - idle[i].share()*float64(busy[i].whole)
	}
	gbit := float64(l.Reads) * float64(way.load.Size) * 8 / 1e9
	return ticks * float64(tick.Microseconds()) / gbit
}

// conclude makes the figures of all blocks.
func (way *contender) conclude(rest map[*inventory.Server]float64) {
	h := way.hist
	way.hist = nil // it takes a lot of memory
	if way.Samples == 0 {
		return
	}
	way.Quantiles = metric.QuantilesOf(h)
	text, err := h.MarshalText()
	if err != nil {
		way.Why = err.Error()
	}
	way.Histogram = string(text)
	for _, s := range way.ends { // in their order, so that it is the same each time
		if rest[s] > way.Other {
			way.Other, way.OtherAt = rest[s], s.Addr
		}
	}
}

// emitCompared says what a comparison has come to.
func (r *run) emitCompared(c *Comparison) {
	if r.in.Emit == nil {
		return
	}
	var said []string
	for _, way := range c.Ways {
		text := fmt.Sprintf("%s p99 %v", way.Over, way.P99)
		if way.Why != "" {
			text = fmt.Sprintf("%s %s: %s", way.Over, NotMeasured, way.Why)
		}
		said = append(said, text)
	}
	r.in.Emit(plan.Event{Time: time.Now(), Type: plan.EventProbe, Device: c.Initiator, Message: c.Pair() + ", compared: " + strings.Join(said, ", "), Data: map[string]any{"compared": c}})
}
