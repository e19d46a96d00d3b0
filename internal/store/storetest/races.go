package storetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"weft/internal/store"
)

const racers = 50

// race has each racer try once, all at once, with a store of its own; and is how many
// won. The others got an error of the type that the check accepts.
func race(t *testing.T, c *Subject, try func(s store.Store, i int) error, lost func(error) bool) (winner int) {
	t.Helper()
	stores := make([]store.Store, racers)
	for i := range stores {
		stores[i] = c.Open(t)
	}
	var won atomic.Int32
	var group sync.WaitGroup
	start := make(chan struct{})
	for i, s := range stores {
		group.Go(func() {
			<-start
			switch err := try(s, i); {
			case err == nil:
				won.Add(1)
				winner = i
			case !lost(err):
				t.Errorf("racer %d: %T %v", i, err, err)
			}
		})
	}
	close(start)
	group.Wait()
	if won.Load() != 1 {
		t.Fatalf("%d racers won", won.Load())
	}
	return winner
}

func racersCreate(t *testing.T, c *Subject) {
	ctx := within(t)
	winner := race(t, c, func(s store.Store, i int) error {
		return second(s.Create(ctx, "run/r1", fmt.Append(nil, i)))
	}, func(err error) bool { return errors.As(err, new(*store.ExistsError)) })
	if e := must[store.Entry](t)(c.Open(t).Get(ctx, "run/r1")); string(e.Value) != strconv.Itoa(winner) {
		t.Errorf("racer %d won, and %q is there", winner, e.Value)
	}
}

func racersUpdate(t *testing.T, c *Subject) {
	s, ctx := c.Open(t), within(t)
	at := must[store.Revision](t)(s.Create(ctx, "run/r1", nil))
	winner := race(t, c, func(s store.Store, i int) error {
		return second(s.Update(ctx, "run/r1", fmt.Append(nil, i), at))
	}, func(err error) bool {
		var stale *store.StaleError
		return errors.As(err, &stale) && stale.At == at && stale.Current > at
	})
	e := must[store.Entry](t)(s.Get(ctx, "run/r1"))
	if string(e.Value) != strconv.Itoa(winner) {
		t.Errorf("racer %d won, and %q is there", winner, e.Value)
	}
	race(t, c, func(s store.Store, i int) error { return s.Delete(ctx, "run/r1", e.Revision) },
		func(err error) bool { return errors.As(err, new(*store.NotFoundError)) })
}

// whole is a value that shows whether it is whole.
func whole(n int) []byte {
	return bytes.Repeat(fmt.Appendf(nil, "%05d,", n), 1+n*997%2000)
}

func isWhole(value []byte) (int, bool) {
	if len(value) < 6 {
		return 0, false
	}
	n, err := strconv.Atoi(string(value[:5]))
	return n, err == nil && bytes.Equal(value, whole(n))
}

// readers never see half a value, nor an older one than before.
func readers(t *testing.T, c *Subject) {
	s, ctx := c.Open(t), within(t)
	at := must[store.Revision](t)(s.Create(ctx, "run/r1", whole(0)))
	done := make(chan struct{})
	var group sync.WaitGroup
	for range 4 {
		s := c.Open(t)
		group.Go(func() {
			for last := (store.Entry{}); ; {
				select {
				case <-done:
					return
				default:
				}
				e, err := s.Get(ctx, "run/r1")
				was, _ := isWhole(last.Value)
				n, ok := isWhole(e.Value)
				if err != nil || !ok || e.Revision < last.Revision || n < was || (e.Revision == last.Revision) != (n == was && last.Key != "") {
					t.Errorf("after %d at %d comes %d at %d, whole is %v: %v", was, last.Revision, n, e.Revision, ok, err)
					return
				}
				last = e
			}
		})
	}
	for n := range 60 {
		var err error
		if at, err = s.Update(ctx, "run/r1", whole(n+1), at); err != nil {
			t.Error(err)
			break
		}
	}
	close(done)
	group.Wait()
}

// A document that is there all the time is in every list.
func listBesideWriters(t *testing.T, c *Subject) {
	s := c.Open(t)
	const keys = 20
	var first [keys]store.Revision
	for k := range keys {
		first[k] = must[store.Revision](t)(s.Create(within(t), fmt.Sprintf("run/r%d", k), whole(0)))
	}
	ctx, stop := context.WithCancel(within(t))
	defer stop()
	var group sync.WaitGroup
	for w := range 4 {
		s := c.Open(t)
		group.Go(func() {
			at := first
			for n := 1; ctx.Err() == nil; n++ {
				for k := w; k < keys && ctx.Err() == nil; k += 4 {
					var err error
					if at[k], err = s.Update(context.WithoutCancel(ctx), fmt.Sprintf("run/r%d", k), whole(n%90), at[k]); err != nil {
						t.Error(err)
						return
					}
				}
			}
		})
	}
	last := map[string]store.Revision{}
	for range 25 {
		all, at, err := s.List(within(t), "run")
		if err != nil || len(all) != keys {
			t.Errorf("of %d documents %d are in the list: %v", keys, len(all), err)
			break
		}
		for _, e := range all {
			if _, ok := isWhole(e.Value); !ok || e.Revision < last[e.Key] {
				t.Errorf("%s is whole: %v, at %d, was at %d", e.Key, ok, e.Revision, last[e.Key])
			}
			last[e.Key] = e.Revision
		}
		if at == 0 {
			t.Error("the list has no revision")
		}
	}
	stop()
	group.Wait()
}

// What was acknowledged to one is seen by all.
func acknowledged(t *testing.T, c *Subject) {
	a, b, ctx := c.Open(t), c.Open(t), within(t)
	at := must[store.Revision](t)(a.Create(ctx, "run/r1", []byte("0")))
	for n := range 50 {
		at = must[store.Revision](t)(a.Update(ctx, "run/r1", fmt.Append(nil, n), at))
		holds(t, b, "run/r1", strconv.Itoa(n), at)
		all, _, err := b.List(ctx, "")
		if err != nil || len(all) != 1 || all[0].Revision != at {
			t.Fatalf("after revision %d the list is %v: %v", at, all, err)
		}
		a, b = b, a
	}
}
