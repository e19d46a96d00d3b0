package nats

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	client "github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"weft/internal/require"
	"weft/internal/store"
)

// A server that is gone is told, and everything goes on when it is back.
func TestOutage(t *testing.T) {
	t.Parallel()
	h := newHub(t)
	keeper, s := h.open(t, h.options()), h.open(t, h.options())
	s.o.Timeout = 300 * time.Millisecond // opened before: all that it is asked from here on is in vain
	at, err := keeper.Create(t.Context(), "run/r1", []byte("one"))
	if err != nil {
		t.Fatal(err)
	}
	d, err := keeper.PutBlob(t.Context(), strings.NewReader("a plan"))
	if err != nil {
		t.Fatal(err)
	}
	lease, err := keeper.Lease(t.Context(), "device/fdo1", "me", time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	watched := make(chan error, 1)
	go func() {
		for _, err := range s.Watch(t.Context(), "", at) {
			watched <- err
			return
		}
	}()
	h.stop()
	for what, err := range map[string]error{
		"get":    second(s.Get(t.Context(), "run/r1")),
		"create": second(s.Create(t.Context(), "run/r2", nil)),
		"update": second(s.Update(t.Context(), "run/r1", nil, at)),
		"delete": s.Delete(t.Context(), "run/r1", at),
		"list":   func() error { _, _, err := s.List(t.Context(), ""); return err }(),
		"lease":  second(s.Lease(t.Context(), "device/fdo2", "me", time.Hour)),
		"blob":   second(s.Blob(t.Context(), d)),
		"put":    second(s.PutBlob(t.Context(), strings.NewReader("other"))),
		"watch":  <-watched,
	} {
		if away := (*store.UnavailableError)(nil); !errors.As(err, &away) {
			t.Errorf("%s: %T %v", what, err, err)
		} else if strings.Contains(err.Error(), "buffer") {
			t.Errorf("%s: the cause is not that the hub is gone: %v", what, err)
		}
	}
	if !lease.Fresh() {
		t.Error("the lease's time has not gone")
	}
	h.start(t)
	if e, err := keeper.Get(t.Context(), "run/r1"); err != nil || string(e.Value) != "one" || e.Revision != at {
		t.Errorf("afterwards: %v, %v", e, err)
	}
	if _, err := keeper.Update(t.Context(), "run/r1", []byte("two"), at); err != nil {
		t.Error(err)
	}
	if err := lease.Renew(t.Context()); err != nil {
		t.Error(err)
	}
	for e, err := range keeper.Watch(t.Context(), "", at) {
		if err != nil || string(e.Value) != "two" {
			t.Errorf("a watch goes on with %v: %v", e, err)
		}
		break
	}
}

// A hub whose clock is set an hour ahead gives no lease to another that its holder renews,
// nor one that was not renewed for its time yet. One whose clock is set back does not keep
// a dead holder's for an hour.
func TestClockOfTheHub(t *testing.T) {
	t.Parallel()
	require.Long(t, "10 s")
	for _, by := range []time.Duration{time.Hour, -time.Hour} {
		t.Run(by.String(), func(t *testing.T) {
			t.Parallel()
			h := newHub(t)
			var c clock
			o := h.options()
			o.clock = c.at
			a, b := h.open(t, o), h.open(t, o)
			const ttl = 6 * time.Second
			l, err := a.Lease(t.Context(), "device/fdo1", "alice", ttl)
			if err != nil {
				t.Fatal(err)
			}
			c.pass(by)
			begin := time.Now()
			renewed := make(chan error, 1)
			go func() {
				for range 4 {
					time.Sleep(ttl / 12)
					if err := l.Renew(t.Context()); err != nil {
						renewed <- err
						return
					}
				}
				renewed <- nil
			}()
			if _, err := b.Lease(t.Context(), "device/fdo1", "bob", ttl); !errors.As(err, new(*store.HeldError)) {
				t.Errorf("while it is renewed: %v", err)
			}
			if err := <-renewed; err != nil {
				t.Errorf("its holder: %v", err)
			}
			c.pass(by)
			last := time.Now()
			got, err := b.Lease(t.Context(), "device/fdo1", "bob", ttl)
			if err != nil {
				t.Fatalf("%s after its last renewal: %v", time.Since(last), err)
			}
			if time.Since(begin) < ttl {
				t.Errorf("another has it after %s", time.Since(begin))
			}
			if err := l.Renew(t.Context()); !errors.As(err, new(*store.LostError)) || got.Token().Compare(l.Token()) <= 0 {
				t.Errorf("its former holder: %v", err)
			}
		})
	}
}

func second[T any](_ T, err error) error { return err }

// A change that a restart of the server interrupts is made once, and said to be made.
func TestRestartBetween(t *testing.T) {
	t.Parallel()
	h := newHub(t)
	keeper := h.open(t, h.options())
	o := h.options()
	var armed atomic.Bool
	o.step = func(what string) {
		if what == "send" && armed.CompareAndSwap(true, false) {
			h.stop()
			h.start(t)
		}
	}
	s := h.open(t, o)
	armed.Store(true)
	at, err := s.Create(t.Context(), "run/r1", []byte("one"))
	if err != nil {
		t.Fatal(err)
	}
	armed.Store(true)
	if at, err = s.Update(t.Context(), "run/r1", []byte("two"), at); err != nil {
		t.Fatal(err)
	}
	if e, err := keeper.Get(t.Context(), "run/r1"); err != nil || string(e.Value) != "two" || e.Revision != at {
		t.Errorf("%v, %v", e, err)
	}
}

// A copy of a change that was stored and not acknowledged is found by its mark; what
// another weft stored is not taken for it.
func TestMark(t *testing.T) {
	t.Parallel()
	h := newHub(t)
	s := h.open(t, h.options())
	for _, c := range []struct {
		name  string
		store func(m message) // what is in the stream when the answer is lost
		check func(rev store.Revision, now *message, err error) bool
	}{
		{"own", func(m message) {
			if _, err := s.table.send(t.Context(), m); err != nil {
				t.Error(err)
			}
		}, func(rev store.Revision, now *message, err error) bool { return rev > 0 && now == nil && err == nil }},
		{"another's", func(m message) {
			if _, err := s.table.Create(t.Context(), m.Key, nil); err != nil {
				t.Error(err)
			}
		}, func(rev store.Revision, now *message, err error) bool {
			return rev == 0 && now != nil && !now.deleted && err == nil
		}},
		{"own, and another's on it", func(m message) {
			at, err := s.table.send(t.Context(), m)
			if err == nil {
				_, err = s.table.Update(t.Context(), m.Key, nil, at)
			}
			if err != nil {
				t.Error(err)
			}
		}, func(rev store.Revision, now *message, err error) bool {
			away := (*store.UnavailableError)(nil)
			return errors.As(err, &away) && away.Unknown
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := message{Entry: store.Entry{Key: "run/" + store.Segment(c.name)}, mark: "mark"}
			n := 0
			rev, now, err := s.table.settle(t.Context(), m, func() (store.Revision, error) {
				if n++; n == 1 {
					c.store(m)
					return 0, client.ErrTimeout
				}
				return s.table.send(t.Context(), m)
			})
			if !c.check(rev, now, err) {
				t.Errorf("revision %d, now %v: %v", rev, now, err)
			}
		})
	}
}

// A store that was made anew is not taken for the one that was watched.
func TestStoreLost(t *testing.T) {
	t.Parallel()
	require.Long(t, "6 s")
	h := newHub(t)
	s := h.open(t, h.options()) // patient: a busy machine takes its time to start another server
	var at store.Revision
	var err error
	for _, key := range []string{"a", "b", "c"} {
		if at, err = s.Create(t.Context(), key, nil); err != nil {
			t.Fatal(err)
		}
	}
	old, err := s.Lease(t.Context(), "device/fdo1", "me", time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	watched := make(chan error, 1)
	begun := make(chan bool)
	go func() {
		for _, err := range s.Watch(t.Context(), "", at-1) {
			if err == nil {
				close(begun)
				continue
			}
			watched <- err
		}
	}()
	<-begun
	h.stop()
	h.place = t.TempDir()
	h.start(t)
	fresh := h.open(t, h.options())
	for _, key := range []string{"a", "b", "c", "d", "e"} {
		if _, err := fresh.Create(t.Context(), key, nil); err != nil {
			t.Fatal(err)
		}
	}
	if err := <-watched; !errors.As(err, new(*store.GapError)) {
		t.Errorf("the watch ends in %T %v", err, err)
	}
	l, err := fresh.Lease(t.Context(), "device/fdo1", "me", time.Hour)
	if err != nil || l.Token().Compare(old.Token()) <= 0 {
		t.Errorf("token %v after %v: %v", l, old.Token(), err)
	}
}

// behind is a leader whose count is behind what a follower has delivered already.
type behind struct {
	jetstream.Stream
	by uint64
}

func (b behind) Info(ctx context.Context, opts ...jetstream.StreamInfoOpt) (*jetstream.StreamInfo, error) {
	info, err := b.Stream.Info(ctx, opts...)
	if err == nil {
		info.State.LastSeq -= b.by
	}
	return info, err
}

// A watch that was told more than the leader counts is told of a gap only where the
// replicas agree that the store has less.
func TestWatchIsAheadOfTheLeader(t *testing.T) {
	t.Parallel()
	h := newHub(t)
	s := h.open(t, h.options())
	at, err := s.Create(t.Context(), "run/r1", nil)
	if err != nil {
		t.Fatal(err)
	}
	replicated := *s.table
	replicated.replicas = 3
	replicated.stream = behind{s.table.stream, 1}
	w := watcher{t: &replicated, from: at, at: at}
	if err := w.look(t.Context()); err != nil {
		t.Errorf("a leader that is behind: %v", err)
	}
	w.at += 100
	if err := w.look(t.Context()); !errors.As(err, new(*store.GapError)) {
		t.Errorf("an older copy of the store: %v", err)
	}
}

// With replicas a consumer may not learn of what its server caught up with: a watch that
// waits in vain asks the leader, and has another consumer made.
func TestWatchMisses(t *testing.T) {
	t.Parallel()
	h := newHub(t)
	s := h.open(t, h.options())
	at, err := s.Create(t.Context(), "run/r1", nil)
	if err != nil {
		t.Fatal(err)
	}
	d, err := s.table.deliver(t.Context(), jetstream.ConsumerConfig{DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: uint64(at) + 1,
		FilterSubjects: []string{s.table.below("nothing")}}) // it is never told of run
	if err != nil {
		t.Fatal(err)
	}
	defer d.stop()
	replicated := *s.table
	replicated.replicas = 3
	w := watcher{t: &replicated, folder: "run", from: at, at: at}
	if err := w.idle(t.Context(), d); err != nil {
		t.Errorf("there is nothing to deliver: %v", err)
	}
	if _, err := s.Create(t.Context(), "another/r2", nil); err != nil {
		t.Fatal(err)
	}
	if err := w.idle(t.Context(), d); err != nil {
		t.Errorf("another folder's: %v", err)
	}
	if _, err := s.Create(t.Context(), "run/r2", nil); err != nil {
		t.Fatal(err)
	}
	if err := w.idle(t.Context(), d); err != errAgain {
		t.Errorf("what was not delivered: %v", err)
	}
	none := watcher{t: &replicated, folder: "nothing", from: at, at: at}
	if err := none.idle(t.Context(), d); err != nil {
		t.Errorf("a folder that has nothing: %v", err)
	}
}

// With replicas a list is as new as the message up to which it was read: a watch may have
// told of a change that the leader does not count yet.
func TestListIsAsNewAsItsFence(t *testing.T) {
	t.Parallel()
	h := newHub(t)
	keeper := h.open(t, h.options())
	keeper.table.replicas = 3
	at, err := keeper.Create(t.Context(), "run/r1", nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, folder := range []string{"", "run"} {
		list, of, err := keeper.List(t.Context(), folder)
		if err != nil || len(list) != 1 || of <= at {
			t.Errorf("%q: %v as of %d, after a change at %d: %v", folder, list, of, at, err)
		}
		at = of
	}
}

// A stream that would not keep what it should is refused, and why.
func TestForeignStream(t *testing.T) {
	t.Parallel()
	h := newHub(t)
	conn, err := client.Connect(h.options().URL)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	js, err := jetstream.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := js.CreateKeyValue(t.Context(), jetstream.KeyValueConfig{Bucket: "weft-test"}); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), h.options()); err == nil || !strings.Contains(err.Error(), "KV_weft-test") {
		t.Errorf("%v", err)
	}
}

// Other clients of NATS read documents as a bucket, and what they write is not taken
// for a change whose past is known.
func TestBucket(t *testing.T) {
	t.Parallel()
	h := newHub(t)
	s := h.open(t, h.options())
	at, err := s.Create(t.Context(), "run/r1", []byte("one"))
	if err != nil {
		t.Fatal(err)
	}
	kv, err := s.js.KeyValue(t.Context(), "weft-test")
	if err != nil {
		t.Fatal(err)
	}
	if e, err := kv.Get(t.Context(), "run.r1"); err != nil || string(e.Value()) != "one" || e.Revision() != uint64(at) {
		t.Errorf("%v, %v", e, err)
	}
	if _, err := kv.PutString(t.Context(), "run.r1", "by hand"); err != nil {
		t.Fatal(err)
	}
	for e, err := range s.Watch(t.Context(), "", at) {
		if err != nil || string(e.Value) != "by hand" || !e.Missed {
			t.Errorf("%v: %v", e, err)
		}
		break
	}
}
