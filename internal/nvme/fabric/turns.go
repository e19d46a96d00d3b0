package fabric

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// TurnTime is how long a thread may keep a processor that others wait for. Kernels
// would leave it to one for milliseconds, and take no less than this.
const TurnTime = 100 * time.Microsecond

// Turns bound how many connections of one source (see [Source]) are worked for at
// a time: a host with many has no more of the processors than one with few. Those
// that wait go in the order in which they came. The listeners of a process share
// them.
type Turns struct {
	// Spinning are the connections that look for what comes next without sleeping.
	Spinning Spinning

	most    int
	yield   func()
	several atomic.Bool // sources there are

	mu      sync.Mutex
	sources map[string]*stage
}

// A stage is where the connections of one source have their turns.
type stage struct {
	mu      sync.Mutex
	turns   int // that are open; guarded by Turns.mu
	taken   int
	waiting []*Turn // in order
}

// A Turn is what one goroutine works in for a connection.
type Turn struct {
	turns  *Turns
	source string
	at     *stage
	mine   chan struct{}
	since  time.Time // others have been let go on
}

// NewTurns lets so many of a source be taken at a time. yield, if any, lets other
// threads go on. It is called while there are several sources: one alone has nobody to
// let go on, and would only wait for what else the machine does.
func NewTurns(most int, yield func()) *Turns {
	return &Turns{most: most, yield: yield, sources: map[string]*stage{}}
}

// Open is for a connection from an address. Close ends it.
func (t *Turns) Open(remote string) *Turn {
	source := Source(remote)
	t.mu.Lock()
	defer t.mu.Unlock()
	at := t.sources[source]
	if at == nil {
		at = new(stage)
		t.sources[source] = at
		t.several.Store(len(t.sources) > 1)
	}
	at.turns++
	return &Turn{turns: t, source: source, at: at, mine: make(chan struct{}, 1)}
}

// Close is for a turn that is not taken.
func (t *Turn) Close() {
	t.turns.mu.Lock()
	defer t.turns.mu.Unlock()
	if t.at.turns--; t.at.turns == 0 {
		delete(t.turns.sources, t.source)
		t.turns.several.Store(len(t.turns.sources) > 1)
	}
}

// Yield lets other threads go on where there are several sources, else goroutines.
func (t *Turns) Yield() {
	if t.yield != nil && t.several.Load() {
		t.yield()
		return
	}
	runtime.Gosched()
}

// Take waits for the turn. Leave ends it, soon: meanwhile nothing is waited for.
func (t *Turn) Take() {
	s := t.at
	s.mu.Lock()
	if s.taken < t.turns.most {
		s.taken++
		s.mu.Unlock()
		return
	}
	s.waiting = append(s.waiting, t)
	s.mu.Unlock()
	<-t.mine
}

// Leave gives the turn to who has waited longest. Who takes turns without ever having
// to wait lets other threads go on here.
func (t *Turn) Leave() {
	t.give()
	t.rest()
}

func (t *Turn) give() {
	s := t.at
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.waiting) == 0 {
		s.taken--
		return
	}
	next := s.waiting[0]
	s.waiting = s.waiting[:copy(s.waiting, s.waiting[1:])]
	next.mine <- struct{}{}
}

// Wanted reports whether others wait for a turn.
func (t *Turn) Wanted() bool {
	t.at.mu.Lock()
	defer t.at.mu.Unlock()
	return len(t.at.waiting) > 0
}

// Pass has those go first who wait, if any do, and then takes the turn again.
func (t *Turn) Pass() {
	if t.Wanted() {
		t.give()
		t.Take()
	}
	t.rest()
}

// rest lets other threads go on, unless it just did.
func (t *Turn) rest() {
	if t.turns.yield == nil || !t.turns.several.Load() {
		return
	}
	if now := time.Now(); now.Sub(t.since) > TurnTime {
		t.turns.yield()
		t.since = now
	}
}
