package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"syscall"

	"weft/internal/hint"
	"weft/plan"
)

// What Ctrl-C means while devices are being changed: the first finishes what
// was begun and begins nothing more, the second reverts what is being changed,
// the third ends weft at once. Where nothing is being changed the first puts an
// end to it. SIGTERM, after which its sender may lose patience, counts as the
// second, and once more changes nothing.

// A signalled is the signal that ended a context.
type signalled struct{ os.Signal }

func (s signalled) Error() string { return s.String() + " signal received" }

// Is makes it what the end of any context is.
func (signalled) Is(target error) bool { return target == context.Canceled }

// endNow ends weft without waiting for anything. The stream of events ends in its summary.
func (a *app) endNow(s os.Signal) {
	a.out.summary(exitInterrupted, hint.Wrap(fmt.Errorf("interrupted: %w, again: weft ended at once", signalled{s}),
		"devices revert what was being changed by their own timers; see weft rollout status and weft plan"))
	os.Exit(exitInterrupted)
}

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
		ending := false
		for {
			select {
			case <-done:
				return
			case s := <-signals:
				switch {
				case ending && s == os.Interrupt:
					a.endNow(s)
				case ending: // timeout(1) and others send SIGTERM to weft and again to its process group
				case s == os.Interrupt && a.executor.pauses.Ask():
					a.out.emit(plan.Event{Type: plan.EventNote, Level: "warn", Message: "interrupted: finishing the devices in progress, starting no others; a second Ctrl-C reverts the changes in progress"})
				default:
					ending = true
					end(signalled{s})
				}
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
