package target

// lines hold what waits to be done, one line for each host, or whoever else is to
// be treated alike. Whoever takes the
// next thing takes it from the hosts in turn: what one host has brought, however
// much it is, holds up another by one thing at most. In steady state they do not
// allocate.
type lines[T any] struct {
	of    map[string]*line[T] // by host NQN: those with something that waits or is being done
	turn  fifo[*line[T]]      // those with something that waits
	spare []*line[T]
	count int // things that wait
}

// A line is what one host has brought.
type line[T any] struct {
	host    string
	waiting fifo[T]
	busy    int // things that were taken and are not yet done
}

// add puts v at the end of the line of its host.
func (l *lines[T]) add(host string, v T) {
	own := l.of[host]
	if own == nil {
		own = l.open(host)
	}
	if own.waiting.n == 0 {
		l.turn.push(own)
	}
	own.waiting.push(v)
	l.count++
}

func (l *lines[T]) open(host string) (own *line[T]) {
	if n := len(l.spare); n > 0 {
		own, l.spare = l.spare[n-1], l.spare[:n-1]
	} else {
		own = new(line[T])
	}
	if l.of == nil {
		l.of = map[string]*line[T]{}
	}
	own.host = host
	l.of[host] = own
	return own
}

// waiting is how many things wait in the line of a host.
func (l *lines[T]) waiting(host string) int {
	if own := l.of[host]; own != nil {
		return own.waiting.n
	}
	return 0
}

// next takes what comes next of a host of which fewer than most things are being
// done. Tell done when it is.
func (l *lines[T]) next(most int) (v T, of *line[T], ok bool) {
	for range l.turn.n {
		own := l.turn.pop()
		if own.busy >= most {
			l.turn.push(own)
			continue
		}
		v = own.waiting.pop()
		own.busy++
		l.count--
		if own.waiting.n > 0 {
			l.turn.push(own)
		}
		return v, own, true
	}
	return v, nil, false
}

// done says that one thing is done that next has returned of a line.
func (l *lines[T]) done(of *line[T]) {
	of.busy--
	l.close(of)
}

// close forgets a line that is empty.
func (l *lines[T]) close(of *line[T]) {
	if of.busy > 0 || of.waiting.n > 0 {
		return
	}
	delete(l.of, of.host)
	of.waiting.shrink()
	l.spare = append(l.spare, of)
}

// drop takes out everything of a host that is to go.
func (l *lines[T]) drop(host string, goes func(T) bool) (out []T) {
	own := l.of[host]
	if own == nil || own.waiting.n == 0 {
		return nil
	}
	for range own.waiting.n {
		if v := own.waiting.pop(); goes(v) {
			out = append(out, v)
		} else {
			own.waiting.push(v)
		}
	}
	l.count -= len(out)
	if own.waiting.n == 0 {
		for range l.turn.n {
			if other := l.turn.pop(); other != own {
				l.turn.push(other)
			}
		}
		l.close(own)
	}
	return out
}

// A fifo returns what was pushed first.
type fifo[T any] struct {
	ring  []T
	first int
	n     int
}

func (f *fifo[T]) push(v T) {
	if f.n == len(f.ring) {
		larger := make([]T, max(8, 2*f.n))
		k := copy(larger, f.ring[f.first:])
		copy(larger[k:], f.ring[:f.first])
		f.ring, f.first = larger, 0
	}
	f.ring[(f.first+f.n)%len(f.ring)] = v
	f.n++
}

// pop is for a fifo that is not empty.
func (f *fifo[T]) pop() (v T) {
	var none T
	v, f.ring[f.first] = f.ring[f.first], none
	f.first = (f.first + 1) % len(f.ring)
	f.n--
	return v
}

// shrink gives back what an empty fifo rarely needs.
func (f *fifo[T]) shrink() {
	if len(f.ring) > MaxDepth {
		*f = fifo[T]{}
	}
}
