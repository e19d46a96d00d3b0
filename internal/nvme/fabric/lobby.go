package fabric

import (
	"slices"
	"sync"
)

// A Lobby holds those who have yet to show who they are. There is room for so
// many, for so many from one source (see [Source]) and so many who go by one name;
// 0 is any number. Whoever comes is let in, and someone else must leave for it
// where there is no room: of those who are too many, the one who has waited longest
// of the source that has most of them. So a host that gets on with it is let in,
// whatever others do from elsewhere. The zero Lobby has no bounds; its methods may
// be called concurrently.
type Lobby[T comparable] struct {
	Most     int
	OfSource int
	OfName   int

	mu    sync.Mutex
	guest []guest[T] // in the order of their arrival
}

type guest[T comparable] struct {
	who          T
	source, name string
}

// Enter lets someone in. It returns who must leave for it, and is in no longer;
// without a reason nobody must.
func (l *Lobby[T]) Enter(who T, source, name string) (out T, reason string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.guest = append(l.guest, guest[T]{who, source, name})
	ofSource := func(g guest[T]) bool { return g.source == source }
	ofName := func(g guest[T]) bool { return g.name == name }
	anybody := func(guest[T]) bool { return true }
	switch {
	case l.over(l.OfSource, ofSource):
		return l.pushOut(ofSource), "too many of one address have yet to show who they are"
	case l.over(l.OfName, ofName):
		return l.pushOut(ofName), "too many who go by one name have yet to show who they are"
	case l.over(l.Most, anybody):
		return l.pushOut(anybody), "too many have yet to show who they are"
	}
	return out, ""
}

// over reports whether there are more than most of some; 0 is any number.
func (l *Lobby[T]) over(most int, of func(guest[T]) bool) bool {
	if most == 0 || len(l.guest) <= most {
		return false
	}
	n := 0
	for _, g := range l.guest {
		if of(g) {
			n++
		}
	}
	return n > most
}

// pushOut takes out one of some, but for the last who came.
func (l *Lobby[T]) pushOut(of func(guest[T]) bool) T {
	count := map[string]int{}
	before := l.guest[:len(l.guest)-1]
	for _, g := range before {
		if of(g) {
			count[g.source]++
		}
	}
	at := -1
	for i, g := range before {
		if of(g) && (at < 0 || count[g.source] > count[before[at].source]) {
			at = i
		}
	}
	out := before[at].who
	l.guest = slices.Delete(l.guest, at, at+1)
	return out
}

// Leave takes out someone who has shown who it is, or is gone.
func (l *Lobby[T]) Leave(who T) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if i := slices.IndexFunc(l.guest, func(g guest[T]) bool { return g.who == who }); i >= 0 {
		l.guest = slices.Delete(l.guest, i, i+1)
	}
}

// Len is how many are in.
func (l *Lobby[T]) Len() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.guest)
}
