package run

import (
	"context"
	"sync"
)

// Pauses are asked for from outside, such as with the first Ctrl-C, where work on a
// plan can grant it: what was begun is finished, and nothing more is begun.
type Pauses struct {
	mu    sync.Mutex
	asked context.Context // ends when it is asked for; nil: nobody could pause
	pause context.CancelFunc
}

// offer grants pauses until end is called.
func (p *Pauses) offer() (end func()) {
	if p == nil {
		return func() {}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked, p.pause = context.WithCancel(context.Background())
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.asked = nil
	}
}

// Ask asks for a pause, and reports whether that was possible and new.
func (p *Pauses) Ask() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.asked == nil || p.asked.Err() != nil {
		return false
	}
	p.pause()
	return true
}

// wanted reports whether a pause was asked for.
func (p *Pauses) wanted() bool {
	if p == nil {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.asked != nil && p.asked.Err() != nil
}

// until is a context for what need not be finished before a pause: looks and
// waits.
func (p *Pauses) until(ctx context.Context) (context.Context, context.CancelFunc) {
	if p == nil {
		return context.WithCancel(ctx)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	ctx, cancel := context.WithCancel(ctx)
	if p.asked == nil {
		return ctx, cancel
	}
	unwatch := context.AfterFunc(p.asked, cancel)
	return ctx, func() {
		unwatch()
		cancel()
	}
}
