package tcp

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"weft/internal/nvme/rawsock"
)

const (
	coolAfter  = 4096 // rounds in which a connection had nothing before it is watched only
	coolStuck  = 256  // the same where its peer does not read
	watchEvery = 8    // rounds between looks at the connections that are watched
	clockEvery = 4096 // rounds between looks at the clock
)

// A pollLoop serves its connections in turn, on one thread. Those that have
// been silent for a while are watched together, which costs one call for all.
type pollLoop struct {
	empty int

	attention atomic.Bool // there is something in what follows, or in a connection's flags
	mu        sync.Mutex
	joining   []*polled
	stopping  bool

	hot    []*polled
	cool   map[int32]*polled
	watch  *rawsock.Watch
	number int32
	warmed func(int32)
}

// attend has the loop look at what others want of it.
func (l *pollLoop) attend() { l.attention.Store(true) }

// run is the thread.
func (l *pollLoop) run(cpu int, started chan<- error) {
	err := rawsock.Own(cpu)
	if err == nil {
		l.watch, err = rawsock.NewWatch()
	}
	started <- err
	if err != nil {
		return
	}
	defer l.watch.Close()
	l.cool = map[int32]*polled{}
	l.warmed = l.warm
	for round, idle := 0, 0; ; round++ {
		if l.attention.Load() && !l.attendNow() {
			return
		}
		if round%watchEvery == 0 && len(l.cool) > 0 {
			l.watch.Poll(l.warmed)
		}
		if round%clockEvery == 0 {
			l.expire(time.Now())
		}
		idle++
		if l.turns() {
			idle = 0
		}
		if idle >= l.empty {
			idle = 0
			rawsock.Yield()
		}
	}
}

// turns gives every connection its turn and reports whether any had something
// to do.
func (l *pollLoop) turns() (moved bool) {
	for i := 0; i < len(l.hot); i++ {
		p := l.hot[i]
		did, over := p.turn()
		switch {
		case over:
			l.hot = slices.Delete(l.hot, i, i+1)
			i--
			p.end()
		case did:
			moved, p.silent = true, 0
		default:
			if p.silent++; p.cools() && l.watch.Add(p.sock, p.number, !p.c.full, p.stuck) == nil {
				l.hot = slices.Delete(l.hot, i, i+1)
				i--
				l.cool[p.number] = p
			}
		}
	}
	return moved
}

// warm gives a connection turns again.
func (l *pollLoop) warm(number int32) {
	p := l.cool[number]
	if p == nil {
		return
	}
	_ = l.watch.Remove(p.sock)
	delete(l.cool, number)
	p.silent = 0
	l.hot = append(l.hot, p)
}

// attendNow does what others have asked for, and reports whether to go on.
func (l *pollLoop) attendNow() bool {
	l.attention.Store(false)
	l.mu.Lock()
	joining, stopping := l.joining, l.stopping
	l.joining = nil
	l.mu.Unlock()
	for _, p := range joining {
		l.number++
		p.number = l.number
		if p.begin() {
			l.hot = append(l.hot, p)
		}
	}
	for number, p := range l.cool {
		if p.wanted() {
			l.warm(number)
		}
	}
	return !stopping
}

// expire ends connections whose time is up.
func (l *pollLoop) expire(now time.Time) {
	for number, p := range l.cool {
		if p.late(now) {
			l.warm(number)
		}
	}
	for _, p := range l.hot {
		p.expired = p.expired || p.late(now)
	}
}
