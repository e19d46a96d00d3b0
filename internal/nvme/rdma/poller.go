package rdma

import (
	"errors"
	"os"
	"slices"
	"sync"
	"time"

	"weft/internal/nvme/fabric"
	"weft/internal/nvme/rdma/verbs"
)

// A poller serves connections that complete in one hub: it is woken once for all that
// has completed meanwhile, and arms once before it sleeps. Its goroutine owns what is
// not otherwise marked.
//
// Hosts are served in turn, however many connections each has: in what has completed
// nobody waits behind all of another's.
type poller struct {
	l      *listener
	domain verbs.Domain
	hub    verbs.Hub

	done    [batch]verbs.Done
	spin    spinner
	armed   bool
	news    bool      // there may be connections to let go
	waiting []*source // for which there is something to do, in turn
	several bool      // sources there are
	gone    []*conn   // to forget when nothing of theirs is left in the hub
	empty   bool      // there are no connections, as far as the goroutine knows

	mu      sync.Mutex // guards what follows, in the order listener, poller, connection
	conns   []*conn    // by what is in their ids; nil is free
	members int
	room    int // completions of others that the hub has room for
	sources map[string]*source
	broken  error // the hub is of no use any more; the goroutine alone sets it
}

// source is a host, or what it comes from.
type source struct {
	members int
	ready   []*conn // with something pending, in turn
}

// pollerRoom is for how many completions a poller of few has room: of 15 connections
// with queues of 128. Where there is one for each processor others are larger, to be
// few.
const pollerRoom = 8 << 10

// takeIn finds a poller for a connection with so many completions at a time: one
// for each processor, then the one with the fewest of those that have room.
func (l *listener) takeIn(c *conn, room int) error {
	d := c.link.Domain()
	l.mu.Lock()
	defer l.mu.Unlock()
	var best *poller
	least, all := 0, 0
	for _, p := range l.pollers {
		if p.domain != d {
			continue
		}
		all++
		if n, ok := p.has(room); ok && (best == nil || n < least) {
			best, least = p, n
		}
	}
	if best == nil || all < l.params.Processors {
		size := pollerRoom
		if all >= l.params.Processors {
			size *= 4
		}
		p, err := l.newPoller(d, max(room, size))
		if err != nil && best == nil {
			return err
		}
		if err == nil {
			best = p
			l.pollers = append(l.pollers, p)
			defer l.wg.Go(p.run) // once the connection is there
		}
	}
	best.add(c, room)
	return nil
}

func (l *listener) newPoller(d verbs.Domain, room int) (*poller, error) {
	if most := d.Limits().Dones; most > 0 {
		room = min(room, most)
	}
	hub, err := d.Hub(room)
	if err != nil {
		return nil, err
	}
	return &poller{l: l, domain: d, hub: hub, room: room, spin: spinner{never: l.params.Processors < 2}, sources: map[string]*source{}}, nil
}

// has reports whether there is room for so many completions, and how many
// connections there are.
func (p *poller) has(room int) (members int, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.members, p.room >= room && p.broken == nil
}

// add takes a connection in. It is served until it is let go, and forgotten after
// leave.
func (p *poller) add(c *conn, room int) {
	c.mu.Lock()
	c.home = p
	c.mu.Unlock()
	name := fabric.Source(c.remote)
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.sources[name]
	if s == nil {
		s = new(source)
		p.sources[name] = s
	}
	s.members++
	p.members++
	p.room -= room
	at := slices.Index(p.conns, nil)
	if at < 0 {
		at = len(p.conns)
		p.conns = append(p.conns, nil)
	}
	p.conns[at] = c
	c.id, c.of, c.room, c.turn = uint64(at)<<workOf, s, room, p.l.params.Turns.Open(c.remote)
}

// leave is for a connection that was let go and whose link is closed.
func (p *poller) leave(c *conn) {
	c.gone.Store(true)
	p.hub.Wake()
}

// forget is for connections of which nothing is left in the hub. The caller holds mu.
func (p *poller) forget() {
	for _, c := range p.gone {
		p.conns[c.id>>workOf] = nil
		p.members--
		p.room += c.room
		if c.of.members--; c.of.members == 0 {
			delete(p.sources, fabric.Source(c.remote))
		}
	}
	p.gone = p.gone[:0]
	p.empty = p.members == 0
}

// closes ends a poller that nobody needs any more.
func (p *poller) closes() bool {
	if !p.empty {
		return false
	}
	p.l.mu.Lock()
	defer p.l.mu.Unlock()
	if n, _ := p.has(0); n > 0 {
		return false
	}
	p.l.pollers = slices.DeleteFunc(p.l.pollers, func(q *poller) bool { return q == p })
	_ = p.hub.Close() // nobody is left to tell
	return true
}

// glanceEvery is how many batches in a row there are between looks at what else
// happens.
const glanceEvery = 256

// run serves until there are no connections any more.
func (p *poller) run() {
	for batches := 1; !p.closes(); {
		n := p.take()
		for len(p.waiting) > 0 {
			p.work()
			if p.several {
				p.take() // of others, who are to be next
			}
		}
		switch {
		case n > 0:
			p.spin.found(true)
			if batches++; batches%glanceEvery == 0 {
				p.wait(past())
				p.hear()
			}
		case p.news:
			p.hear()
		case !p.armed && p.broken == nil && p.spin.again():
		case !p.armed && p.broken == nil:
			if err := p.hub.Arm(); err != nil {
				p.fail(err)
			}
			p.armed = true
		default:
			p.wait(time.Time{})
		}
	}
}

// take fetches what has completed, for the connections; where there are several
// sources all of it, to serve them in turn.
func (p *poller) take() (all int) {
	for {
		n := p.fetch()
		if all += n; n < len(p.done) || !p.several {
			return all
		}
	}
}

// fetch takes a batch.
func (p *poller) fetch() (n int) {
	var err error
	if p.broken == nil {
		if n, err = p.hub.Poll(p.done[:]); err != nil {
			p.fail(err)
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := range p.done[:n] {
		c := p.conns[p.done[i].ID>>workOf]
		if c == nil || c.let {
			continue
		}
		if len(c.pending) == 0 {
			if len(c.of.ready) == 0 {
				p.waiting = append(p.waiting, c.of)
			}
			c.of.ready = append(c.of.ready, c)
		}
		c.pending = append(c.pending, p.done[i])
	}
	if n < len(p.done) && len(p.gone) > 0 {
		p.forget()
	}
	p.several = len(p.sources) > 1
	return n
}

// work works for one connection of the source that is next.
func (p *poller) work() {
	s := p.waiting[0]
	c := s.ready[0]
	all, err := c.work(p.others)
	s.ready = s.ready[:copy(s.ready, s.ready[1:])]
	if !all {
		s.ready = append(s.ready, c)
	}
	p.waiting = p.waiting[:copy(p.waiting, p.waiting[1:])]
	if len(s.ready) > 0 {
		p.waiting = append(p.waiting, s)
	}
	if err != nil {
		p.letGo(c, err)
	}
}

// others reports whether another source waits by now.
func (p *poller) others() bool {
	if p.several {
		p.take()
	}
	return len(p.waiting) > 1
}

// letGo ends the work for a connection.
func (p *poller) letGo(c *conn, err error) {
	c.let, c.pending = true, nil
	s := c.of
	s.ready = slices.DeleteFunc(s.ready, func(o *conn) bool { return o == c })
	if len(s.ready) == 0 {
		p.waiting = slices.DeleteFunc(p.waiting, func(o *source) bool { return o == s })
	}
	c.over <- err
}

// hear lets the connections go that have ended.
func (p *poller) hear() {
	p.news = false
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.conns {
		switch {
		case c == nil:
		case !c.let:
			err := p.broken
			if err == nil {
				err = c.ended()
			}
			if err != nil {
				p.letGo(c, err)
			}
		case c.gone.Load() && !slices.Contains(p.gone, c):
			p.gone = append(p.gone, c)
		}
	}
}

// wait waits for completions and news.
func (p *poller) wait(deadline time.Time) {
	p.armed = false
	switch err := p.hub.Wait(deadline); {
	case err == nil, errors.Is(err, os.ErrDeadlineExceeded):
	case errors.Is(err, verbs.ErrNews):
		p.news = true
	default:
		p.fail(err)
	}
}

// fail ends all connections: the hub is of no use.
func (p *poller) fail(err error) {
	const pause = 50 * time.Millisecond // they are being closed
	if p.broken != nil {
		time.Sleep(pause)
	}
	p.news = true
	p.mu.Lock()
	defer p.mu.Unlock()
	p.broken = err
}

// reason is why the connection of a pair has ended, if the hub sees it, else err.
func (p *poller) reason(pair verbs.Pair, err error) error {
	p.armed, p.news = false, true // it sees it of others, too
	return reason(p.hub, pair, err)
}
