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
				if s == os.Interrupt && a.pauses.Ask() {
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
