package target

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"weft/internal/nvme/fabric"
)

// Peers make the target say most of what it says, as often as they like. So there
// are only so many lines with one message about one source, and with one message
// at all: a burst of them, and then some a second. What is left out is counted.
const (
	sourceBurst, sourceRate = 200, 2.0
	kindBurst, kindRate     = 2000, 20.0
	maxKinds                = 4096 // that are told apart
)

// quiet is a handler of logs that leaves lines out.
type quiet struct {
	slog.Handler
	pace *pace
}

// pace says which lines may pass.
type pace struct {
	left atomic.Uint64 // lines that were left out

	mu     sync.Mutex
	kinds  map[kind]*allowance
	forgot time.Time // when kinds were last dropped
}

// A kind of lines is those with one message about one source, "" for all.
type kind struct{ message, source string }

// An allowance is how many lines of a kind may pass.
type allowance struct {
	lines float64
	at    time.Time // when it was so
	left  uint64    // lines that were left out since one has passed
}

func newQuiet(next slog.Handler) *quiet {
	return &quiet{next, &pace{kinds: map[kind]*allowance{}}}
}

// Handle passes a line on, or leaves it out. One that passes says how many like it
// have not.
func (q *quiet) Handle(ctx context.Context, r slog.Record) error {
	source := ""
	r.Attrs(func(a slog.Attr) bool {
		if a.Key == "from" || a.Key == "remote" {
			source = fabric.Source(a.Value.String())
		}
		return source == ""
	})
	passes, left := q.pace.take(r.Message, source, time.Now())
	if !passes {
		return nil
	}
	if left > 0 {
		r.AddAttrs(slog.Uint64("left_out", left))
	}
	return q.Handler.Handle(ctx, r)
}

// take reports whether a line may pass, and how many like it were left out before.
func (p *pace) take(message, source string, now time.Time) (passes bool, left uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.kinds) >= maxKinds && now.Sub(p.forgot) >= forgetEvery {
		p.forget(now)
	}
	own := p.allowance(kind{message, source}, sourceBurst, sourceRate, now)
	all := p.allowance(kind{message: message}, kindBurst, kindRate, now)
	if own.lines < 1 || all.lines < 1 {
		own.left++
		p.left.Add(1)
		return false, 0
	}
	own.lines--
	all.lines--
	left, own.left = own.left, 0
	return true, left
}

// allowance is that of a kind, as it is now. Kinds without a source have one for
// all of them, and so have those that are too many.
func (p *pace) allowance(of kind, burst, rate float64, now time.Time) *allowance {
	a := p.kinds[of]
	if a == nil {
		if a = (&allowance{lines: burst, at: now}); len(p.kinds) < maxKinds {
			p.kinds[of] = a
		}
	}
	a.lines = min(burst, a.lines+rate*now.Sub(a.at).Seconds())
	a.at = now
	return a
}

// forgetEvery bounds what lines from ever other sources cost: all kinds are gone through.
const forgetEvery = time.Second

// forget drops the kinds that nothing was left out of lately.
func (p *pace) forget(now time.Time) {
	p.forgot = now
	for of, a := range p.kinds {
		if a.left == 0 && now.Sub(a.at).Seconds()*sourceRate > sourceBurst {
			delete(p.kinds, of)
		}
	}
}
