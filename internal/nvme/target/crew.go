package target

import (
	"sync"
	"time"
)

// How many workers there are for what may take a while, and how many of them one
// host may have at a time. The rest is for the others: a host finds a worker
// whatever one other does. Reads and writes are many and short; a flush waits for
// the whole device, so that few at a time do as much as many would.
const (
	movers, hostMovers     = 48, 32
	flushers, hostFlushers = 8, 2
	storers, hostStorers   = 16, 4 // of writes to what is Cached: more at a time would only compete for processors
)

// computers is the same for what keeps processors busy, as zeroing and comparing
// memory do: one host leaves most of them.
func computers(processors int) (all, host int) {
	all = min(max(2, processors/2), 8)
	return all, all / 2
}

// slice is how long a worker goes on where others wait for its processor. Go would
// leave it to one for ten milliseconds.
const slice = 100 * time.Microsecond

// Large groups of Diffie and Hellman take a processor a while, and strangers can
// ask for them: few are worked on at once, one of each source (see fabric.Source).
const (
	provers, sourceProvers = 2, 1
	sourceProofs           = maxQueues // that may wait of one source
)

// A crew is workers that perform commands which may block. Whoever brings one
// never waits: it is put in the line of its host, and hosts are served in turn.
// The lines are no longer than what hosts may have outstanding.
type crew struct {
	most int                 // workers that one line may have at a time
	line func(*queue) string // in which the jobs of a queue wait
	do   func(job)
	give func() // lets others go on

	mu     sync.Mutex
	some   sync.Cond // there may be something to do, or closed is set
	lines  lines[job]
	closed bool
}

// hire starts a crew, whose workers belong to t.workers.
func (t *Target) hire(workers, most int, line func(*queue) string, do func(job)) *crew {
	c := &crew{most: most, line: line, do: do, give: t.yield}
	c.some.L = &c.mu
	for range workers {
		t.workers.Go(c.work)
	}
	return c
}

// The lines that there are: of a host, and of a source.
func ofHost(q *queue) string   { return q.ctrl.host.HostNQN }
func ofSource(q *queue) string { return q.ctrl.source }

// add has a worker perform j, soon.
func (c *crew) add(j job) {
	c.mu.Lock()
	c.lines.add(c.line(j.queue), j)
	c.mu.Unlock()
	c.some.Signal()
}

// offer is add unless so many wait in the line of j already.
func (c *crew) offer(j job, most int) bool {
	c.mu.Lock()
	of := c.line(j.queue)
	room := c.lines.waiting(of) < most
	if room {
		c.lines.add(of, j)
	}
	c.mu.Unlock()
	c.some.Signal()
	return room
}

// work performs commands until the crew is dismissed.
func (c *crew) work() {
	c.mu.Lock()
	defer c.mu.Unlock()
	began := time.Now()
	for {
		j, of, ok := c.lines.next(c.most)
		if ok {
			c.mu.Unlock()
			c.do(j)
			if now := time.Now(); now.Sub(began) > slice {
				c.give()
				began = now
			}
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
	return c.lines.drop(c.line(q), func(j job) bool { return j.queue == q })
}

// dismiss ends the workers, when nothing waits any more.
func (c *crew) dismiss() {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.some.Broadcast()
}
