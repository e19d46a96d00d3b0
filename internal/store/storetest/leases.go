package storetest

import (
	"errors"
	"slices"
	"strconv"
	"testing"
	"time"

	"weft/internal/store"
)

const ttl = time.Hour

func lease(t *testing.T, c *Subject) {
	a, b, ctx := c.Open(t), c.Open(t), within(t)
	l := must[*store.Lease](t)(a.Lease(ctx, "device/fdo1", "alice", ttl))
	if !l.Fresh() {
		t.Error("a new lease is not fresh")
	}
	for _, s := range []store.Store{a, b} { // one's own, too, is had once
		e := is[*store.HeldError](t, second(s.Lease(ctx, "device/fdo1", "bob", ttl)))
		if e.Holder != "alice" || e.Left <= 0 || e.Left > ttl {
			t.Errorf("held by %s for %s", e.Holder, e.Left)
		}
	}
	other := must[*store.Lease](t)(b.Lease(ctx, "device/fdo2", "bob", ttl))
	is[*store.NotFoundError](t, second(a.Get(ctx, "device/fdo1"))) // apart from documents
	if all, _, err := a.List(ctx, ""); len(all) != 0 || err != nil {
		t.Errorf("leases are in the list: %v, %v", all, err)
	}
	if err := l.Release(ctx); err != nil {
		t.Fatal(err)
	}
	if l.Fresh() {
		t.Error("a released lease is fresh")
	}
	is[*store.LostError](t, l.Renew(ctx))
	is[*store.LostError](t, l.Release(ctx))
	again := must[*store.Lease](t)(b.Lease(ctx, "device/fdo1", "bob", ttl))
	is[*store.LostError](t, l.Renew(ctx))
	for _, l := range []*store.Lease{again, other} {
		if err := l.Renew(ctx); err != nil {
			t.Error(err)
		}
	}
}

func leaseEnds(t *testing.T, c *Subject) {
	a, b, ctx := c.Open(t), c.Open(t), within(t)
	l := must[*store.Lease](t)(a.Lease(ctx, "device/fdo1", "alice", ttl))
	c.Pass(ttl * 9 / 10)
	if l.Fresh() {
		t.Error("a lease is fresh when nine tenths of it are gone")
	}
	is[*store.HeldError](t, second(b.Lease(ctx, "device/fdo1", "bob", ttl)))
	c.Pass(ttl * 2 / 10)
	taken := must[*store.Lease](t)(b.Lease(ctx, "device/fdo1", "bob", ttl))
	if e := is[*store.LostError](t, l.Renew(ctx)); e.By != "bob" {
		t.Errorf("it is lost to %q", e.By)
	}
	is[*store.LostError](t, l.Release(ctx))
	if l.Fresh() || !taken.Fresh() {
		t.Errorf("fresh: the lost one %v, the other %v", l.Fresh(), taken.Fresh())
	}
	is[*store.HeldError](t, second(a.Lease(ctx, "device/fdo1", "alice", ttl)))
	// One that ended, and that nobody took, goes on.
	c.Pass(2 * ttl)
	if err := taken.Renew(ctx); err != nil || !taken.Fresh() {
		t.Errorf("renewed late: %v, fresh is %v", err, taken.Fresh())
	}
	is[*store.HeldError](t, second(a.Lease(ctx, "device/fdo1", "alice", ttl)))
}

func leaseRenewed(t *testing.T, c *Subject) {
	a, b, ctx := c.Open(t), c.Open(t), within(t)
	l := must[*store.Lease](t)(a.Lease(ctx, "device/fdo1", "alice", ttl))
	token := l.Token()
	for range 5 {
		c.Pass(ttl * 6 / 10)
		if !l.Fresh() {
			t.Error("it is not fresh after six tenths of it")
		}
		if err := l.Renew(ctx); err != nil {
			t.Fatal(err)
		}
		is[*store.HeldError](t, second(b.Lease(ctx, "device/fdo1", "bob", ttl)))
	}
	if l.Token() != token {
		t.Errorf("the token was %s, and is %s", token, l.Token())
	}
}

// leasesListed: who has a lease is listed until it ends, and a lease is broken for the
// holder that was seen, and for no later one.
func leasesListed(t *testing.T, c *Subject) {
	a, b, ctx := c.Open(t), c.Open(t), within(t)
	listed := func(folder string, want ...string) (list []store.Holding) {
		t.Helper()
		list = must[[]store.Holding](t)(b.Leases(ctx, folder))
		var have []string
		for _, h := range list {
			have = append(have, h.Key+" "+h.Holder)
			if h.Left <= 0 || h.Left > ttl {
				t.Errorf("%s is held for %s", h.Key, h.Left)
			}
		}
		if !slices.Equal(have, want) {
			t.Errorf("below %q there are %q, and should be %q", folder, have, want)
		}
		return list
	}
	listed("")
	two := must[*store.Lease](t)(a.Lease(ctx, "device/fdo2", "bob", ttl))
	one := must[*store.Lease](t)(a.Lease(ctx, "device/fdo1", "alice", ttl))
	phase := must[*store.Lease](t)(a.Lease(ctx, "phase/r1", "alice", ttl/2))
	listed("", "device/fdo1 alice", "device/fdo2 bob", "phase/r1 alice")
	held := listed("device", "device/fdo1 alice", "device/fdo2 bob")
	if err := one.Renew(ctx); err != nil { // it is the same lease
		t.Fatal(err)
	}
	if err := b.Break(ctx, held[0]); err != nil {
		t.Fatal(err)
	}
	is[*store.LostError](t, one.Renew(ctx))
	is[*store.LostError](t, b.Break(ctx, held[0]))
	must[*store.Lease](t)(a.Lease(ctx, "device/fdo1", "carol", ttl))
	if e := is[*store.LostError](t, b.Break(ctx, held[0])); e.By != "carol" {
		t.Errorf("it is lost to %q", e.By)
	}
	if err := two.Release(ctx); err != nil {
		t.Fatal(err)
	}
	c.Pass(ttl * 6 / 10)
	listed("", "device/fdo1 carol") // that of the phase has ended
	if err := phase.Renew(ctx); err != nil {
		t.Fatal(err)
	}
	listed("", "device/fdo1 carol", "phase/r1 alice")
	is[*store.InvalidError](t, second(b.Leases(ctx, "A")))
}

func leaseRacers(t *testing.T, c *Subject) {
	ctx := within(t)
	old := must[*store.Lease](t)(c.Open(t).Lease(ctx, "device/fdo1", "old", ttl))
	c.Pass(2 * ttl)
	winner := race(t, c, func(s store.Store, i int) error {
		l, err := s.Lease(ctx, "device/fdo1", strconv.Itoa(i), ttl)
		if err == nil && l.Token().Compare(old.Token()) <= 0 {
			t.Errorf("token %s after %s", l.Token(), old.Token())
		}
		return err
	}, func(err error) bool { return errors.As(err, new(*store.HeldError)) })
	if e := is[*store.LostError](t, old.Renew(ctx)); e.By != strconv.Itoa(winner) {
		t.Errorf("it is lost to %s, and %d won", e.By, winner)
	}
}

func tokens(t *testing.T, c *Subject) {
	var last store.Token
	rises := func(what string) *store.Lease {
		t.Helper()
		l := must[*store.Lease](t)(c.Open(t).Lease(within(t), "device/fdo1", "me", ttl))
		if l.Token().Compare(last) <= 0 || last.Compare(l.Token()) >= 0 {
			t.Errorf("%s: token %s after %s", what, l.Token(), last)
		}
		last = l.Token()
		return l
	}
	if err := rises("at first").Release(within(t)); err != nil {
		t.Fatal(err)
	}
	rises("after a release")
	c.Restart(t)
	c.Pass(2 * ttl)
	l := rises("after a restart")
	if err := l.Release(within(t)); err != nil {
		t.Fatal(err)
	}
	c.Restart(t)
	rises("after a release and a restart")
	c.Pass(2 * ttl)
	other := must[*store.Lease](t)(c.Open(t).Lease(within(t), "device/fdo2", "me", ttl))
	if other.Token().Compare(last) <= 0 {
		t.Errorf("of another key: token %s after %s", other.Token(), last)
	}
	epoch := last.Epoch
	if err := c.Open(t).Restored(within(t)); err != nil {
		t.Fatal(err)
	}
	rises("after it was put back")
	if now, err := c.Open(t).Epoch(within(t)); err != nil || now != last.Epoch {
		t.Errorf("the epoch is %d, and its tokens have %d: %v", now, last.Epoch, err)
	}
	if last.Epoch <= epoch {
		t.Errorf("the epoch was %d, and is %d", epoch, last.Epoch)
	}
	c.Restart(t)
	c.Pass(2 * ttl)
	rises("and a restart")
}
