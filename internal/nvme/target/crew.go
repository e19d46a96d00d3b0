package target

import "sync"

// How many workers there are for what may take a while, and how many of them one
// host may have at a time. The rest is for the others: a host finds a worker
// whatever one other does. Reads and writes are many and short; a flush waits for
// the whole device, and zeroing keeps the processor and the file busy, so that few
// of them at a time do as much as many would.
const (
	movers, hostMovers     = 48, 32
	flushers, hostFlushers = 8, 2
	zeroers, hostZeroers   = 8, 2
)

// A crew is workers that perform commands which may block. Whoever brings one
// never waits: it is put in the line of its host, and hosts are served in turn.
// The lines are no longer than what hosts may have outstanding.
type crew struct {
	most int // workers that one host may have at a time

	mu     sync.Mutex
	some   sync.Cond // there may be something to do, or closed is set
	lines  lines[job]
	closed bool
}

// hire starts a crew, whose workers belong to t.workers.
func (t *Target) hire(workers, most int) *crew {
	c := &crew{most: most}
	c.some.L = &c.mu
	for range workers {
		t.workers.Go(func() { c.work(t) })
	}
	return c
}

// add has a worker perform j, soon.
func (c *crew) add(j job) {
	c.mu.Lock()
	c.lines.add(j.host(), j)
	c.mu.Unlock()
	c.some.Signal()
}

// work performs commands until the crew is dismissed.
func (c *crew) work(t *Target) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for {
		j, of, ok := c.lines.next(c.most)
		if ok {
			c.mu.Unlock()
			t.perform(j)
			c.mu.Lock()
			c.lines.done(of) // whoever is next of that host is taken by this worker
			continue
		}
		if c.closed {
			return
		}
		c.some.Wait()
	}
}

// drop takes out what waits of a queue that has ended.
func (c *crew) drop(q *queue) []job {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.lines.drop(q.ctrl.host.HostNQN, func(j job) bool { return j.queue == q })
}

// dismiss ends the workers, when nothing waits any more.
func (c *crew) dismiss() {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.some.Broadcast()
}
