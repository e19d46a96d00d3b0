package hub

import (
	"context"
	"errors"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"weft/internal/require"
	"weft/internal/store"
)

// A wire leads from a site to the hub and knows nothing of what goes over it, as a relay
// or a tunnel does. It can be cut, so that who uses it learns of it, or be silent, so that
// it looks as if it were there.
type wire struct {
	net.Listener
	to string

	mu     sync.Mutex
	cut    bool
	silent chan struct{} // closed while it is not
	open   []net.Conn
}

func newWire(t *testing.T, to string) *wire {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w := &wire{Listener: l, to: to, silent: make(chan struct{})}
	close(w.silent)
	t.Cleanup(func() { l.Close(); w.set(true, false) })
	go w.serve()
	return w
}

func (w *wire) serve() {
	for {
		near, err := w.Accept()
		if err != nil {
			return
		}
		far, err := net.Dial("tcp", w.to)
		if err != nil {
			near.Close()
			continue
		}
		w.mu.Lock()
		if w.cut {
			near.Close()
			far.Close()
		}
		w.open = append(w.open, near, far)
		w.mu.Unlock()
		go w.carry(near, far)
		go w.carry(far, near)
	}
}

func (w *wire) carry(to, from net.Conn) {
	defer to.Close()
	defer from.Close()
	buf := make([]byte, 16<<10)
	for {
		n, err := from.Read(buf)
		w.mu.Lock()
		silent := w.silent
		w.mu.Unlock()
		<-silent
		if err == nil {
			_, err = to.Write(buf[:n])
		}
		if err != nil {
			return
		}
	}
}

// set cuts the wire or makes it silent, or mends it.
func (w *wire) set(cut, silent bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	select {
	case <-w.silent:
		if silent {
			w.silent = make(chan struct{})
		}
	default:
		if !silent {
			close(w.silent)
		}
	}
	if w.cut = cut; cut {
		for _, c := range w.open {
			c.Close()
		}
		w.open = nil
	}
}

// A worker reaches the hub through the link of its site, with its own credential: whoever
// carries the link reads nothing and can do nothing. While the link is cut, or only seems
// to be there, the worker is told that the store does not answer, a lease is not renewed,
// and nobody is given it before its time. It goes on when the link is back.
func TestSiteLinkCut(t *testing.T) {
	t.Parallel()
	require.Long(t, "5 s")
	p := found(t, Founding{})
	h := serve(t, p, Serving{})
	s := reach(t, p)
	direct := mustOpen(t, h.url, credential(t, s, alice))
	if _, err := direct.Create(t.Context(), "run/r1", []byte("one")); err != nil {
		t.Fatal(err)
	}
	link := newWire(t, strings.TrimPrefix(h.url, "tls://"))
	c := credential(t, s, dc1)
	far := mustOpen(t, "tls://"+link.Addr().String(), c)
	key := "record/r1/site/dc1/lease"
	lease, err := far.Lease(t.Context(), key, "dc1", time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := far.Create(t.Context(), "run/r2", nil); err == nil {
		t.Error("a worker may do what its site may not")
	}
	for _, how := range []struct {
		name        string
		cut, silent bool
	}{{"cut", true, false}, {"silent", false, true}} {
		t.Run(how.name, func(t *testing.T) {
			link.set(how.cut, how.silent)
			ctx, end := context.WithTimeout(t.Context(), time.Second)
			defer end()
			if err := lease.Renew(ctx); !errors.As(err, new(*store.UnavailableError)) {
				t.Errorf("a lease is renewed: %v", err)
			}
			ctx, end = context.WithTimeout(t.Context(), time.Second)
			defer end()
			if _, err := far.Get(ctx, "run/r1"); !errors.As(err, new(*store.UnavailableError)) {
				t.Errorf("the store answers: %v", err)
			}
			if _, err := direct.Lease(t.Context(), key, "another", time.Hour); !errors.As(err, new(*store.HeldError)) {
				t.Errorf("its lease went with the link: %v", err)
			}
			link.set(false, false)
			if err := lease.Renew(t.Context()); err != nil {
				t.Errorf("when the link is back: %v", err)
			}
			if e, err := far.Get(t.Context(), "run/r1"); err != nil || string(e.Value) != "one" {
				t.Errorf("when the link is back: %s: %v", e.Value, err)
			}
		})
	}
}
