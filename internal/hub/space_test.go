package hub

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"weft/internal/store"
)

// A disk of tests has as much free as is said.
type fakeDisk struct{ free, total atomic.Int64 }

func (d *fakeDisk) of(p *Place) {
	d.free.Store(1 << 40)
	d.total.Store(1 << 40)
	p.disk = func(string) (free, total int64, known bool) { return d.free.Load(), d.total.Load(), true }
}

// A hub whose disk is full takes no documents and says why. It serves reads, renews
// leases, removes documents, revokes credentials, and does all of that after a restart.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	p := found(t, Founding{Plain: true})
	var d fakeDisk
	d.of(p)
	var notes atomic.Value
	notes.Store("")
	note := func(text string) { notes.Store(notes.Load().(string) + text + "\n") }
	h := serve(t, p, Serving{Note: note})
	s := reach(t, p)
	c, w := credential(t, s, alice), credential(t, s, dc1)
	a := mustOpen(t, h.url, c)
	at, err := a.Create(t.Context(), "run/r1", []byte("one"))
	if err != nil {
		t.Fatal(err)
	}
	blob, err := a.PutBlob(t.Context(), strings.NewReader("a plan"))
	if err != nil {
		t.Fatal(err)
	}
	l, err := a.Lease(t.Context(), "device/fdo1", "alice", time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	full := func(a store.Store) {
		t.Helper()
		if _, err := a.Create(t.Context(), "run/r2", []byte("two")); err == nil || !strings.Contains(err.Error(), "the disk of server hub1 has") {
			t.Errorf("a document: %v", err)
		}
		if _, err := a.PutBlob(t.Context(), strings.NewReader("another plan")); err == nil || !strings.Contains(err.Error(), "the disk of server hub1 has") {
			t.Errorf("a blob: %v", err)
		}
		if e, err := a.Get(t.Context(), "run/r1"); err != nil || string(e.Value) != "one" {
			t.Errorf("%v: %v", e, err)
		}
		if list, _, err := a.List(t.Context(), ""); err != nil || len(list) == 0 {
			t.Errorf("%v: %v", list, err)
		}
		if b, err := a.Blob(t.Context(), blob); err != nil {
			t.Error(err)
		} else {
			b.Close()
		}
	}
	gone, err := a.Create(t.Context(), "run/gone", nil)
	if err != nil {
		t.Fatal(err)
	}
	d.free.Store(2 << 20)
	full(a)
	if err := l.Renew(t.Context()); err != nil {
		t.Errorf("a lease: %v", err)
	}
	if err := a.Delete(t.Context(), "run/gone", gone); err != nil {
		t.Errorf("a removal: %v", err)
	}
	status, err := p.Status(t.Context())
	if err != nil || status.Whole() || !slices.ContainsFunc(status.Issues, func(text string) bool { return strings.Contains(text, "2.1 MB free") }) {
		t.Errorf("%+v: %v", status, err)
	}
	if said := notes.Load().(string); !strings.Contains(said, "the disk has 2.1 MB left") {
		t.Errorf("the log: %s", said)
	}
	d.free.Store(0)
	mustOpen(t, h.url, w)
	if effects, err := s.Revoke(t.Context(), dc1.Name); err != nil || len(effects) != 1 || !effects[0].Done {
		t.Errorf("%v: %v", effects, err)
	}
	if _, err := open(t, h.url, w); err == nil {
		t.Error("a credential that was revoked is let in")
	}
	if err := h.stop(); err != nil {
		t.Fatal(err)
	}
	again := serve(t, p, Serving{Note: note})
	a = mustOpen(t, again.url, c)
	full(a)
	d.free.Store(1 << 40)
	if _, err := a.Update(t.Context(), "run/r1", []byte("more"), at); err != nil {
		t.Errorf("with room again: %v", err)
	}
}

// A worker that writes as much as it may leaves room to its owner's people, and another
// owner does not notice.
func TestShares(t *testing.T) {
	t.Parallel()
	p := found(t, Founding{Plain: true})
	var d fakeDisk
	d.of(p)
	d.total.Store(32 << 20) // 4 MB of documents for an owner
	h := serve(t, p, Serving{})
	s := reach(t, p)
	w, a, b := mustOpen(t, h.url, credential(t, s, dc1)), mustOpen(t, h.url, credential(t, s, alice)), mustOpen(t, h.url, credential(t, s, bob))
	big := make([]byte, 900_000)
	var refused error
	n := 0
	for ; refused == nil && n < 10; n++ {
		_, refused = w.Create(t.Context(), fmt.Sprintf("site/dc1/x%d", n), big)
	}
	if refused == nil || errors.As(refused, new(*store.UnavailableError)) || !strings.Contains(refused.Error(), "delete what is not needed") {
		t.Fatalf("document %d: %v", n, refused)
	}
	if _, err := a.Create(t.Context(), "run/r1", make([]byte, 100_000)); err != nil {
		t.Errorf("a person of the owner: %v", err)
	}
	if _, err := b.Create(t.Context(), "run/r1", big); err != nil {
		t.Errorf("another owner: %v", err)
	}
	if status, err := p.Status(t.Context()); err != nil || status.Whole() {
		t.Errorf("%+v: %v", status, err)
	}
	e, err := w.Get(t.Context(), "site/dc1/x0")
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Delete(t.Context(), e.Key, e.Revision); err != nil {
		t.Error(err)
	}
}

// The hub frees its reserved room when a write needs it, and does not write a file whose content
// would not change.
func TestReserve(t *testing.T) {
	t.Parallel()
	p := found(t, Founding{Plain: true})
	var d fakeDisk
	d.of(p)
	if err := p.keepRoom(); err != nil {
		t.Fatal(err)
	}
	for _, free := range []int64{1 << 40, low, least} {
		d.free.Store(free)
		if err := p.makeRoom(); err != nil {
			t.Fatal(err)
		}
		if !exists(p.file("room")) {
			t.Fatalf("with %d bytes free the reserve is given up", free)
		}
	}
	d.free.Store(least - 1)
	for range 2 {
		if err := p.makeRoom(); err != nil || exists(p.file("room")) {
			t.Fatalf("the reserve is kept: %v", err)
		}
	}
	if err := p.keepRoom(); err != nil || exists(p.file("room")) {
		t.Errorf("a full disk is filled: %v", err)
	}
}

// A server whose storage has stopped, as it does when a write fails, is started again at
// the same port, and serves reads.
func TestStorageStops(t *testing.T) {
	t.Parallel()
	p := found(t, Founding{Plain: true})
	started := make(chan *running, 2)
	h := serve(t, p, Serving{started: func(r *running) { started <- r }})
	a := mustOpen(t, h.url, credential(t, reach(t, p), alice))
	if _, err := a.Create(t.Context(), "run/r1", []byte("one")); err != nil {
		t.Fatal(err)
	}
	if err := (<-started).ShutdownJetStream(); err != nil {
		t.Fatal(err)
	}
	<-started
	if e, err := a.Get(t.Context(), "run/r1"); err != nil || string(e.Value) != "one" {
		t.Errorf("%v: %v", e, err)
	}
	if _, err := a.Create(t.Context(), "run/r2", nil); err != nil {
		t.Error(err)
	}
}

func exists(name string) bool {
	_, err := os.Stat(name)
	return err == nil
}
