package tcp

import "slices"

const sweepEvery = 64 // rounds of a crowd between looks for those that are silent

// crowding is when connections are a crowd.
type crowding struct {
	from, left int // as many of them have turns; so few remain that they are none any more
	few, many  int // one in so many has something; one in so many, and they are none any more
	every      int // rounds with something to do between decisions
}

// usualCrowding is what BenchmarkCrowd says: to look at a socket in vain costs about
// as much as to be told of one, and asking costs two or three looks.
func usualCrowding() crowding { return crowding{from: 8, left: 4, few: 8, many: 3, every: 64} }

// A crowd is what a poller knows of its connections where so many have turns, and so
// few of them something to do, that asking the kernel which these are costs less than
// looking at each. They are all watched then, and those get turns that are due.
type crowd struct {
	when    crowding
	crowded bool
	watched map[int32]*polled // with turns or without
	told    func(int32)
	due     []*polled // in the order in which they came to be
	again   []*polled // due, and had a turn in this round
	spare   []*polled

	weighed, looks, hits int // rounds, and the connections there were in them and had something
}

// weigh notes how many connections had something in a round.
func (l *pollLoop) weigh(had int) {
	if had > 0 {
		l.weighed, l.looks, l.hits = l.weighed+1, l.looks+len(l.hot), l.hits+had
	}
}

// gather decides now and then whether the connections with turns are a crowd.
func (l *pollLoop) gather() {
	few, many := false, false
	if l.weighed >= l.when.every {
		few, many = l.when.few*l.hits <= l.looks, l.when.many*l.hits > l.looks
		l.weighed, l.looks, l.hits = 0, 0, 0
	}
	switch n := len(l.hot); {
	case !l.crowded && few && n >= l.when.from:
		l.assemble()
	case l.crowded && (many || n <= l.when.left):
		l.disperse()
	}
}

// assemble has all connections watched.
func (l *pollLoop) assemble() {
	for _, p := range l.hot {
		if !l.watches(p) {
			return
		}
	}
	l.crowded = true
	for _, p := range l.hot {
		l.mark(p) // whatever has come before it was watched
	}
}

// disperse has those watched no longer that have turns.
func (l *pollLoop) disperse() {
	l.crowded = false
	for _, p := range l.hot {
		l.leaves(p)
		p.due = false
	}
	clear(l.due)
	l.due = l.due[:0]
}

// tell is called with the number of a connection that has something.
func (l *pollLoop) tell(number int32) {
	p := l.watched[number]
	if p == nil {
		return
	}
	l.warm(number)
	if l.crowded {
		l.mark(p)
	}
}

// mark gives a connection of a crowd a turn.
func (l *pollLoop) mark(p *polled) {
	if !p.due {
		p.due = true
		l.due = append(l.due, p)
	}
}

// dueTurns is turns of a crowd.
func (l *pollLoop) dueTurns(most int) bool {
	if l.round%sweepEvery == 0 {
		l.sweep()
	}
	list, left, had := l.due, false, 0
	l.due = l.spare[:0]
	for _, p := range list {
		if most > 0 && p.from.served == l.round {
			l.due = append(l.due, p) // the next round begins with it
			continue
		}
		p.c.most, p.due = most, false
		did, over := p.turn()
		if over {
			left = true
			l.hot[slices.Index(l.hot, p)] = nil
			l.over(p)
			continue
		}
		if did {
			had, p.silent, p.from.served = had+1, 0, l.round
		}
		if !l.watches(p) || p.wanted() || p.why != nil {
			p.due = true
			l.again = append(l.again, p)
		}
	}
	clear(list)
	l.spare = list[:0]
	l.due = append(l.due, l.again...)
	clear(l.again)
	l.again = l.again[:0]
	if left {
		l.hot = slices.DeleteFunc(l.hot, func(p *polled) bool { return p == nil })
	}
	l.weigh(had)
	return had > 0
}

// sweep takes their turns from the silent ones of a crowd.
func (l *pollLoop) sweep() {
	left := false
	for i, p := range l.hot {
		if p.due {
			continue
		}
		if p.silent += sweepEvery; p.cools() && l.watches(p) {
			l.hot[i], left = nil, true
			l.cooled(p)
			l.cool[p.number] = p
		}
	}
	if left {
		l.hot = slices.DeleteFunc(l.hot, func(p *polled) bool { return p == nil })
	}
}

// watches has a connection watched for what it waits for now, and reports whether it
// is.
func (l *pollLoop) watches(p *polled) bool {
	heed := p.heed()
	if p.heeds == heed {
		return true
	}
	read, write := heed&heedRead != 0, heed&heedWrite != 0
	change := l.watch.Change
	if p.heeds == 0 {
		change = l.watch.Add
	}
	if change(p.sock, p.number, read, write) != nil {
		return false
	}
	p.heeds = heed
	l.watched[p.number] = p
	return true
}

// leaves has a connection watched no longer.
func (l *pollLoop) leaves(p *polled) {
	if p.heeds != 0 {
		_ = l.watch.Remove(p.sock)
		p.heeds = 0
		delete(l.watched, p.number)
	}
}
