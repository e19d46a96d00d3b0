package simswitch

import (
	"sync"
	"time"
)

// A Clock is the time a switch lives in.
type Clock interface {
	Now() time.Time
	// AfterFunc calls f once d has passed, in a goroutine of its own, unless
	// stop is called before; stop says whether it was.
	AfterFunc(d time.Duration, f func()) (stop func() bool)
}

type realClock struct{}

func (realClock) Now() time.Time { return time.Now() }

func (realClock) AfterFunc(d time.Duration, f func()) func() bool {
	return time.AfterFunc(d, f).Stop
}

// A passing clock runs like another one, and ahead of it by what has passed.
type passingClock struct {
	of Clock

	mu     sync.Mutex
	ahead  time.Duration
	timers map[*passingTimer]bool
}

type passingTimer struct {
	due  time.Time // by the passing clock
	f    func()
	stop func() bool
}

func newPassingClock(of Clock) *passingClock {
	return &passingClock{of: of, timers: map[*passingTimer]bool{}}
}

// Now implements [Clock].
func (c *passingClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.of.Now().Add(c.ahead)
}

// AfterFunc implements [Clock].
func (c *passingClock) AfterFunc(d time.Duration, f func()) func() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := &passingTimer{due: c.of.Now().Add(c.ahead + d), f: f}
	c.timers[t] = true
	t.stop = c.of.AfterFunc(d, func() { c.fire(t) })
	return func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		waiting := c.timers[t]
		delete(c.timers, t)
		t.stop()
		return waiting
	}
}

// fire runs a timer that nobody has stopped or run.
func (c *passingClock) fire(t *passingTimer) {
	c.mu.Lock()
	waiting := c.timers[t]
	delete(c.timers, t)
	c.mu.Unlock()
	if waiting {
		t.f()
	}
}

// pass lets time pass at once, and runs what is due before it returns.
func (c *passingClock) pass(d time.Duration) {
	c.mu.Lock()
	c.ahead += d
	now := c.of.Now().Add(c.ahead)
	var due []*passingTimer
	for t := range c.timers {
		if !t.due.After(now) {
			due = append(due, t)
			continue
		}
		t.stop()
		t.stop = c.of.AfterFunc(t.due.Sub(now), func() { c.fire(t) })
	}
	c.mu.Unlock()
	for _, t := range due {
		c.fire(t)
	}
}
