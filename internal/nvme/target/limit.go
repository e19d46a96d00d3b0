package target

import (
	"sync"
	"time"

	"weft/internal/nvme/wire"
)

// Limits hold a namespace to a rate. Zero is no limit.
type Limits struct {
	IOPS      uint64 // commands in a second, two that are fused as one; what zeroes or deallocates counts once for each zeroTurn
	Bandwidth uint64 // bytes in a second, of what is read, written or compared; a zeroTurn counts as MaxTransfer
}

// limitBurst is how far a namespace may run ahead of its limits: what an idle
// second has saved, and what makes up for timers that fire late. In the first
// second it is one percent too much, later less.
const limitBurst = 10 * time.Millisecond

// A limiter delays the commands of a namespace until its limits allow them. Hosts
// that share the namespace have its limits in turn, each for its commands in the
// order in which they came. Each limit is a bucket that holds limitBurst;
// a command may go when both are above empty, and then takes its whole cost.
type limiter struct {
	perform func(job) // never called with mu held

	mu      sync.Mutex
	rates   Limits
	epoch   time.Time // the times below are nanoseconds since
	ioFree  float64   // when the commands so far are paid for
	byFree  float64   // when their bytes are
	waiting lines[waiter]
	timer   *time.Timer // runs release; nil when nothing waits
	delayed uint64      // commands that had to wait
	waited  time.Duration
}

// waiter is a command that waits.
type waiter struct {
	job
	bytes int
	since time.Duration
}

func newLimiter(perform func(job)) *limiter {
	return &limiter{perform: perform, epoch: time.Now()}
}

// set changes the limits, also for what waits. What was used under other limits
// is forgotten.
func (l *limiter) set(rates Limits) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.rates == rates {
		return
	}
	l.rates, l.ioFree, l.byFree = rates, 0, 0
	if l.timer != nil {
		l.timer.Reset(0)
	}
}

// take reports whether a command may be performed at once. Otherwise it is
// performed later.
func (l *limiter) take(j job, bytes int) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Since(l.epoch)
	if l.waiting.count == 0 && l.due() <= now {
		l.charge(now, bytes)
		return true
	}
	l.waiting.add(j.host(), waiter{j, bytes, now})
	if l.timer == nil {
		l.timer = time.AfterFunc(l.due()-now, l.release)
	}
	return false
}

// due is when the next command may go. The caller holds mu.
func (l *limiter) due() time.Duration {
	at := 0.0
	if l.rates.IOPS > 0 {
		at = l.ioFree
	}
	if l.rates.Bandwidth > 0 {
		at = max(at, l.byFree)
	}
	return time.Duration(at) - limitBurst
}

// charge pays for a command that goes now. The caller holds mu.
func (l *limiter) charge(now time.Duration, bytes int) {
	if r := l.rates.IOPS; r > 0 {
		l.ioFree = max(l.ioFree, float64(now)) + 1e9/float64(r)
	}
	if r := l.rates.Bandwidth; r > 0 {
		l.byFree = max(l.byFree, float64(now)) + 1e9/float64(r)*float64(bytes)
	}
}

// release performs what is due and sets the timer for the rest.
func (l *limiter) release() {
	for {
		l.mu.Lock()
		if l.waiting.count == 0 {
			l.timer = nil
			l.mu.Unlock()
			return
		}
		now := time.Since(l.epoch)
		if wait := l.due() - now; wait > 0 {
			l.timer.Reset(wait)
			l.mu.Unlock()
			return
		}
		w, of, _ := l.waiting.next(1)
		l.waiting.done(of)
		l.charge(now, w.bytes)
		l.delayed++
		l.waited += now - w.since
		l.mu.Unlock()
		l.perform(w.job)
	}
}

// drop takes out what waits of a queue that has ended.
func (l *limiter) drop(q *queue) (out []job) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, w := range l.waiting.drop(q.ctrl.host.HostNQN, func(w waiter) bool { return w.queue == q }) {
		out = append(out, w.job)
	}
	return out
}

// throttled is how many commands have waited, and how long together.
func (l *limiter) throttled() (commands uint64, waited time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.delayed, l.waited
}

// admit reports whether a command may be performed now; where not, the limiter
// of its namespace performs it later.
func (n *namespace) admit(j job) bool {
	bytes := 0
	switch j.x.Command.Opcode {
	case wire.OpWriteZeroes, wire.OpDSM:
		bytes = MaxTransfer
	case wire.OpRead, wire.OpWrite, wire.OpCompare:
		bytes = j.x.Length()
	}
	if j.compare != nil {
		bytes += j.compare.Length()
	}
	return n.limit.take(j, bytes)
}

// limiters are those of all namespaces that are served.
func (t *Target) limiters() (all []*limiter) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, sub := range t.subsystems {
		all = append(all, sub.now.Load().limiters()...)
	}
	return all
}

func (l *layout) limiters() (all []*limiter) {
	for _, n := range l.namespaces {
		if n.limit != nil {
			all = append(all, n.limit)
		}
	}
	return all
}

// setLimits makes the limiters of a layout; those of the namespaces that were
// there before in old go on. Those that are no longer needed let go what waits.
func (t *Target) setLimits(l, old *layout) {
	kept := map[*limiter]bool{}
	for id, n := range l.namespaces {
		if n.Limits == (Limits{}) {
			continue
		}
		if was := old.namespace(id); was != nil && was.same(n) && was.limit != nil {
			n.limit = was.limit
		} else {
			n.limit = newLimiter(t.dispatch)
		}
		n.limit.set(n.Limits)
		kept[n.limit] = true
	}
	if old == nil {
		return
	}
	for _, was := range old.limiters() {
		if !kept[was] {
			was.set(Limits{})
		}
	}
}
