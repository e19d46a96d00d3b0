package run

import (
	"sync"
	"time"
)

// Tokens are those of the marks of runs that were asked for. A record is large, and all
// devices that carry the mark of a run ask for it: its first device asks the store, and
// the others wait for that answer. Those of different runs are asked for side by side.
type tokens struct {
	mu  sync.Mutex
	all map[string]*token // by run
}

// A token is the answer of a store.
type token struct {
	answered chan struct{} // is closed once it is there
	at       time.Time
	text     string
	there    bool // the store has a record of the run
	failed   bool // it did not answer
}

// A run that no record was found of may get one.
const askedAgain = time.Second

// of is the token of a run, and whether it is known. ask asks the store; of what it did
// not answer nothing is known, and whoever comes next asks again.
func (t *tokens) of(run string, ask func() (text string, there bool, err error)) (string, bool) {
	t.mu.Lock()
	a := t.all[run]
	if a != nil && !a.stale() {
		t.mu.Unlock()
		<-a.answered
		return a.text, a.there
	}
	a = &token{answered: make(chan struct{})}
	if t.all == nil {
		t.all = map[string]*token{}
	}
	t.all[run] = a
	t.mu.Unlock()
	text, there, err := ask()
	a.text, a.there, a.failed, a.at = text, there && err == nil, err != nil, time.Now()
	close(a.answered)
	return a.text, a.there
}

// stale: the store is to be asked again.
func (a *token) stale() bool {
	select {
	case <-a.answered:
		return a.failed || !a.there && time.Since(a.at) > askedAgain
	default:
		return false // it is being asked
	}
}
