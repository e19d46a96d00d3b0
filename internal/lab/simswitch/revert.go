package simswitch

import "time"

// pending is a change that reverts by itself unless it is confirmed. A switch
// has one at a time.
type pending struct {
	by     *session // who may confirm it, where that matters
	before *node    // what the switch goes back to
	due    time.Time
	stop   func() bool
}

// arm starts the timer, or starts it anew: what the switch goes back to stays
// what it was at the first time. expired is called, with the switch locked,
// after the configuration went back; what it returns is run unlocked.
func (sw *Switch) arm(by *session, before *node, d time.Duration, expired func() func()) {
	if sw.pending != nil {
		before = sw.pending.before
		sw.disarm()
	}
	p := &pending{by: by, before: before, due: sw.clock.Now().Add(d)}
	sw.pending = p
	sw.timers.Add(1)
	p.stop = sw.clock.AfterFunc(d, func() {
		defer sw.timers.Done()
		sw.mu.Lock()
		if sw.pending != p { // confirmed or armed anew at the last moment
			sw.mu.Unlock()
			return
		}
		sw.pending = nil
		sw.set(p.before)
		tell := expired()
		sw.mu.Unlock()
		if tell != nil {
			tell()
		}
	})
}

// disarm keeps the running configuration.
func (sw *Switch) disarm() {
	if sw.pending == nil {
		return
	}
	if sw.pending.stop() {
		sw.timers.Done()
	}
	sw.pending = nil
}
