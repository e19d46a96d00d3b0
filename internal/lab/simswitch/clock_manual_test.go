package simswitch

import (
	"sync"
	"time"
)

// Fast is the real clock with timers that run out speed times sooner.
func Fast(speed float64) Clock { return fastClock(speed) }

type fastClock float64

func (fastClock) Now() time.Time { return time.Now() }

func (c fastClock) AfterFunc(d time.Duration, f func()) func() bool {
	return realClock{}.AfterFunc(time.Duration(float64(d)/float64(c)), f)
}

// A ManualClock stands still until it is told to advance.
type ManualClock struct {
	mu     sync.Mutex
	now    time.Time
	timers map[int]manualTimer
	next   int
}

type manualTimer struct {
	due time.Time
	f   func()
}

// NewManualClock is a clock that shows now.
func NewManualClock(now time.Time) *ManualClock {
	return &ManualClock{now: now, timers: make(map[int]manualTimer)}
}

// Now implements [Clock].
func (c *ManualClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// AfterFunc implements [Clock]; f runs inside Advance.
func (c *ManualClock) AfterFunc(d time.Duration, f func()) func() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	id := c.next
	c.next++
	c.timers[id] = manualTimer{c.now.Add(d), f}
	return func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		_, waiting := c.timers[id]
		delete(c.timers, id)
		return waiting
	}
}

// Advance moves the clock and runs what is due before it returns.
func (c *ManualClock) Advance(d time.Duration) {
	c.mu.Lock()
	c.now = c.now.Add(d)
	var due []func()
	for id, t := range c.timers {
		if !t.due.After(c.now) {
			due = append(due, t.f)
			delete(c.timers, id)
		}
	}
	c.mu.Unlock()
	for _, f := range due {
		f()
	}
}
