package main

import (
	"context"
	"os"
	"os/signal"
	"sync"
	"syscall"

	"weft/plan"
)

// What Ctrl-C means while devices are being changed: the first finishes what
// was begun and begins nothing more, the second reverts what is being changed,
// the third ends weft at once. Where nothing is being changed the first puts an
// end to it. SIGTERM, after which its sender may lose patience, counts as the
// second.

// A signalled is the signal that ended a context.
type signalled struct{ os.Signal }

func (s signalled) Error() string { return s.String() + " signal received" }

// Is makes it what the end of any context is.
func (signalled) Is(target error) bool { return target == context.Canceled }

// listen makes a context that signals end. stop must be called.
func (a *app) listen() (_ context.Context, stop func()) {
	ctx, end := context.WithCancelCause(context.Background())
	signals, done := make(chan os.Signal, 2), make(chan struct{})
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	// Whoever reads what weft says may go, such as a pager that is closed: that ends
	// no transaction. What is then written fails.
	unread := make(chan os.Signal, 1)
	signal.Notify(unread, syscall.SIGPIPE)
	var listener sync.WaitGroup
	listener.Go(func() {
		for {
			select {
			case <-done:
				return
			case s := <-signals:
				if s == os.Interrupt && a.pauses.ask() {
					a.emit(plan.Event{Type: plan.EventNote, Level: "warn", Message: "interrupted: what was begun is finished, and nothing more is begun; a second Ctrl-C puts back what is being changed"})
					continue
				}
				signal.Stop(signals) // the next one ends weft at once
				end(signalled{s})
				return
			}
		}
	})
	return ctx, func() {
		signal.Stop(signals)
		signal.Stop(unread)
		close(done)
		listener.Wait()
		end(nil)
	}
}

// pauses are what the first Ctrl-C asks for, where the command can grant it.
type pauses struct {
	mu    sync.Mutex
	asked context.Context // ends when it is asked for; nil: nobody could pause
	pause context.CancelFunc
}

// offer lets the next Ctrl-C ask for a pause until end is called.
func (p *pauses) offer() (end func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked, p.pause = context.WithCancel(context.Background())
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.asked = nil
	}
}

// ask asks for a pause, and reports whether that was possible and new.
func (p *pauses) ask() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.asked == nil || p.asked.Err() != nil {
		return false
	}
	p.pause()
	return true
}

// wanted reports whether a pause was asked for.
func (p *pauses) wanted() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.asked != nil && p.asked.Err() != nil
}

// until is a context for what need not be finished before a pause: looks and
// waits.
func (p *pauses) until(ctx context.Context) (context.Context, context.CancelFunc) {
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
