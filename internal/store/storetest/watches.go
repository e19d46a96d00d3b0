package storetest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"testing"

	"weft/internal/store"
)

// A change is what a test did.
type change struct {
	key     string
	value   string
	rev     store.Revision
	deleted bool
}

// A log does things and remembers them.
type log struct {
	s    store.Store
	now  map[string]store.Revision
	done []change
}

func (l *log) put(t *testing.T, key, value string) {
	t.Helper()
	ctx := within(t)
	var at store.Revision
	var err error
	if was, ok := l.now[key]; ok {
		at, err = l.s.Update(ctx, key, []byte(value), was)
	} else {
		at, err = l.s.Create(ctx, key, []byte(value))
	}
	if err != nil {
		t.Fatal(err)
	}
	l.now[key] = at
	l.done = append(l.done, change{key: key, value: value, rev: at})
}

func (l *log) drop(t *testing.T, key string) {
	t.Helper()
	if err := l.s.Delete(within(t), key, l.now[key]); err != nil {
		t.Fatal(err)
	}
	l.done = append(l.done, change{key: key, deleted: true})
	delete(l.now, key)
}

// until reads a watch up to a document that a test wrote last.
func until(ctx context.Context, s store.Store, folder string, from store.Revision, last store.Revision) (out []store.Event, err error) {
	for e, err := range s.Watch(ctx, folder, from) {
		if err != nil {
			return out, err
		}
		out = append(out, e)
		if e.Revision >= last {
			break
		}
	}
	return out, nil
}

// follows holds what a watch yielded against what was done after its beginning: in
// order, and what is not there is said to be missed, and nothing else.
func follows(t *testing.T, events []store.Event, done []change, from store.Revision) {
	t.Helper()
	var last store.Revision
	left := map[string][]change{} // of each key, what was done and not seen yet
	for _, c := range done {
		if c.rev > from || c.deleted {
			left[c.key] = append(left[c.key], c)
		}
	}
	for _, e := range events {
		if e.Revision <= last || e.Revision <= from {
			t.Errorf("revision %d comes after %d", e.Revision, last)
		}
		last = e.Revision
		missed := false
		for {
			if len(left[e.Key]) == 0 {
				t.Fatalf("%s at %d, deleted %v, was not done", e.Key, e.Revision, e.Deleted)
			}
			c := left[e.Key][0]
			left[e.Key] = left[e.Key][1:]
			if c.deleted && e.Deleted && follow(left[e.Key], e.Revision) || !c.deleted && !e.Deleted && c.rev == e.Revision {
				if !e.Deleted && string(e.Value) != c.value {
					t.Errorf("%s at %d is %q, and was %q", e.Key, e.Revision, e.Value, c.value)
				}
				break
			}
			missed = true
		}
		if e.Missed != missed {
			t.Errorf("%s at %d: missed is %v, and should be %v", e.Key, e.Revision, e.Missed, missed)
		}
	}
	for key, rest := range left {
		if len(rest) > 0 {
			t.Errorf("of %s the watch lacks the last %d changes", key, len(rest))
		}
	}
}

// follow: what comes after a deletion has a later revision.
func follow(rest []change, at store.Revision) bool {
	for _, c := range rest {
		if !c.deleted {
			return c.rev > at
		}
	}
	return true
}

func watch(t *testing.T, c *Subject) {
	l := &log{s: c.Open(t), now: map[string]store.Revision{}}
	l.put(t, "run/r1", "one")
	l.put(t, "run/r2", "two")
	l.put(t, "other", "x")
	l.put(t, "run/r1", "one more")
	middle := l.now["run/r1"]
	l.drop(t, "run/r2")
	l.put(t, "run/r2", "two again")
	l.put(t, "run/r2", "two more")
	l.put(t, "run/r3", "three")
	l.drop(t, "run/r1")
	l.drop(t, "other")
	l.put(t, "run/end", "")
	end := l.now["run/end"]
	for _, from := range []store.Revision{0, l.done[0].rev, middle, l.now["run/r3"]} {
		events, err := until(within(t), c.Open(t), "", from, end)
		if err != nil {
			t.Fatalf("from %d: %v", from, err)
		}
		done := l.done
		if i := position(l.done, from); i >= 0 {
			done = l.done[i+1:]
		}
		follows(t, events, done, from)
	}
	events, err := until(within(t), c.Open(t), "run", 0, end)
	if err != nil {
		t.Fatal(err)
	}
	var done []change
	for _, c := range l.done {
		if c.key != "other" {
			done = append(done, c)
		}
	}
	follows(t, events, done, 0)
	c.Restart(t)
	if events, err = until(within(t), c.Open(t), "run", 0, end); err != nil {
		t.Fatal(err)
	}
	follows(t, events, done, 0)
}

func position(done []change, rev store.Revision) int {
	for i, c := range done {
		if c.rev == rev && rev != 0 {
			return i
		}
	}
	return -1
}

func watchLive(t *testing.T, c *Subject) {
	l := &log{s: c.Open(t), now: map[string]store.Revision{}}
	l.put(t, "run/r0", "before")
	_, from, err := l.s.List(within(t), "")
	if err != nil {
		t.Fatal(err)
	}
	begun := len(l.done)
	type result struct {
		events []store.Event
		err    error
	}
	watcher, got := c.Open(t), make(chan result, 1)
	ctx := within(t)
	go func() {
		var r result
		for e, err := range watcher.Watch(ctx, "", from) {
			if r.err = err; err != nil {
				break
			}
			r.events = append(r.events, e)
			if e.Key == "end" {
				break
			}
		}
		got <- r
	}()
	for n := range 150 {
		key := fmt.Sprintf("run/r%d", n*7%11)
		if _, ok := l.now[key]; ok && n%5 == 0 {
			l.drop(t, key)
		} else {
			l.put(t, key, fmt.Sprint(n))
		}
	}
	l.put(t, "end", "")
	r := <-got
	if r.err != nil {
		t.Fatal(r.err)
	}
	follows(t, r.events, l.done[begun:], from)
	// A list, and what a watch says after it, is the state.
	state := map[string]store.Revision{"run/r0": l.done[0].rev}
	for _, e := range r.events {
		if state[e.Key] = e.Revision; e.Deleted {
			delete(state, e.Key)
		}
	}
	if !maps.Equal(state, l.now) {
		t.Errorf("the watch tells\n%v, and the state is\n%v", state, l.now)
	}
}

func watchGap(t *testing.T, c *Subject) {
	s := c.Open(t)
	at := must[store.Revision](t)(s.Create(within(t), "run/r1", nil))
	e := is[*store.GapError](t, second(until(within(t), s, "", at+1000, at+2000)))
	if e.From != at+1000 {
		t.Errorf("the gap is after %d", e.From)
	}
}

func watchEnds(t *testing.T, c *Subject) {
	s := c.Open(t)
	at := must[store.Revision](t)(s.Create(within(t), "run/r1", nil))
	ctx, stop := context.WithCancel(within(t))
	defer stop()
	n := 0
	for e, err := range s.Watch(ctx, "", at-1) {
		if err != nil {
			if !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
			continue
		}
		if n++; e.Revision != at {
			t.Errorf("%v", e)
		}
		stop()
	}
	if n != 1 {
		t.Errorf("%d events", n)
	}
}
