package tcp

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"weft/internal/nvme/fabric"
	"weft/internal/nvme/rawsock"
)

const (
	coolAfter  = 4096 // rounds in which a connection had nothing before it is watched only
	coolStuck  = 256  // the same where its peer does not read
	watchEvery = 8    // rounds between looks at the connections that are watched
	clockEvery = 4096 // rounds between looks at the clock

	turnMost  = 32                  // commands that a turn begins where hosts of other origins wait for theirs
	turnUnit  = 4 << 10             // bytes that one command of them moves: a longer one counts as more
	turnBytes = turnMost * turnUnit // that such a turn reads, and sends, but for the rest of one command
)

// A pollLoop serves its connections in turn, on one thread. Those that have
// been silent for a while are watched together, which costs one call for all. Where
// many have turns they are watched, too: to look at each of them in every round
// costs more than to ask which have something. Where there are few it is the other
// way round.
type pollLoop struct {
	empty int

	attention atomic.Bool // there is something in what follows, or in a connection's flags
	mu        sync.Mutex
	joining   []*polled
	stopping  bool

	hot     []*polled
	first   int // in hot, of the next round
	round   uint64
	origins map[string]*origin
	active  int // origins with hot connections
	cool    map[int32]*polled
	watch   *rawsock.Watch
	number  int32
	crowd
}

// An origin is where connections come from (see fabric.Source): each has one turn
// in a round in which there is something to do, however many connections it has.
type origin struct {
	name        string
	connections int
	hot         int    // of them
	served      uint64 // the round of its last turn
}

// attend has the loop look at what others want of it.
func (l *pollLoop) attend() { l.attention.Store(true) }

// run is the thread.
func (l *pollLoop) run(cpu int, started chan<- error) {
	err := rawsock.Own(cpu)
	if err == nil {
		err = l.open()
	}
	started <- err
	if err != nil {
		return
	}
	defer l.watch.Close()
	for idle := 0; ; {
		if l.attention.Load() && !l.attendNow() {
			return
		}
		idle++
		if l.step() {
			idle = 0
		}
		if idle >= l.empty {
			idle = 0
			rawsock.Yield()
		}
	}
}

// open makes the loop ready for rounds.
func (l *pollLoop) open() (err error) {
	l.cool = map[int32]*polled{}
	l.watched = map[int32]*polled{}
	l.told = l.tell
	l.watch, err = rawsock.NewWatch()
	return err
}

// step is a round, and reports whether there was anything to do.
func (l *pollLoop) step() bool {
	if l.gather(); l.crowded || l.round%watchEvery == 0 && len(l.watched) > 0 {
		l.watch.Poll(l.told)
	}
	if l.round%clockEvery == 0 {
		l.expire(time.Now())
	}
	return l.turns()
}

// turns gives every connection its turn and reports whether any had something to
// do. Where several origins are active, a turn is short, and one that had something
// to do is the last of its origin in this round; the next begins elsewhere.
func (l *pollLoop) turns() bool {
	most, left, had := 0, false, 0
	if l.active > 1 {
		most = turnMost
	}
	l.round++
	if l.crowded {
		return l.dueTurns(most)
	}
	if l.first++; l.first >= len(l.hot) {
		l.first = 0
	}
	for k := range l.hot {
		at := l.first + k
		if at >= len(l.hot) {
			at -= len(l.hot)
		}
		p := l.hot[at]
		if most > 0 && p.from.served == l.round {
			continue
		}
		p.c.most = most
		did, over := p.turn()
		switch {
		case over:
			l.hot[at], left = nil, true
			l.over(p)
		case did:
			had, p.silent, p.from.served = had+1, 0, l.round
		default:
			if p.silent++; p.cools() && l.watches(p) {
				l.hot[at], left = nil, true
				l.cooled(p)
				l.cool[p.number] = p
			}
		}
	}
	if left {
		l.hot = slices.DeleteFunc(l.hot, func(p *polled) bool { return p == nil })
	}
	l.weigh(had)
	return had > 0
}

// join adds a connection.
func (l *pollLoop) join(p *polled) {
	name := fabric.Source(p.c.remote)
	if l.origins[name] == nil {
		if l.origins == nil {
			l.origins = map[string]*origin{}
		}
		l.origins[name] = &origin{name: name}
	}
	p.from = l.origins[name]
	p.from.connections++
	l.heat(p)
	if l.crowded {
		l.mark(p)
	}
}

// heat gives a connection turns.
func (l *pollLoop) heat(p *polled) {
	if p.from.hot++; p.from.hot == 1 {
		l.active++
	}
	l.hot = append(l.hot, p)
}

// cooled says that a connection has no turns any more.
func (l *pollLoop) cooled(p *polled) {
	if p.from.hot--; p.from.hot == 0 {
		l.active--
	}
}

// over ends a connection that has had turns.
func (l *pollLoop) over(p *polled) {
	l.cooled(p)
	l.leave(p.from)
	delete(l.watched, p.number)
	p.end()
}

// leave takes a connection from its origin.
func (l *pollLoop) leave(from *origin) {
	if from.connections--; from.connections == 0 {
		delete(l.origins, from.name)
	}
}

// warm gives a connection turns again.
func (l *pollLoop) warm(number int32) {
	p := l.cool[number]
	if p == nil {
		return
	}
	delete(l.cool, number)
	p.silent = 0
	l.heat(p)
	if l.crowded {
		l.mark(p)
	} else {
		l.leaves(p)
	}
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
			l.join(p)
		}
	}
	for number, p := range l.cool {
		if p.wanted() {
			l.warm(number)
		}
	}
	if l.crowded {
		for _, p := range l.hot {
			if p.wanted() {
				l.mark(p)
			}
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
		if p.expired = p.expired || p.late(now); p.expired && l.crowded {
			l.mark(p)
		}
	}
}
