package hub

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"weft/internal/require"
	"weft/internal/store"
)

// Wires carry what the servers of a hub send each other, and can be cut.
type wires struct {
	mu   sync.Mutex
	cut  int // the server that is cut off, from 0; -1: none
	open map[net.Conn][2]int
}

func newWires() *wires { return &wires{cut: -1, open: map[net.Conn][2]int{}} }

// from makes the wires of a server to the others, and returns where they begin.
func (w *wires) from(t *testing.T, i int, among []string) (peers []string) {
	t.Helper()
	for j, to := range among {
		if j == i {
			continue
		}
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { l.Close() })
		peers = append(peers, l.Addr().String())
		go func() {
			for {
				a, err := l.Accept()
				if err != nil {
					return
				}
				go w.carry(a, to, i, j)
			}
		}()
	}
	return peers
}

func (w *wires) carry(a net.Conn, to string, i, j int) {
	defer a.Close()
	b, err := net.Dial("tcp", to)
	if err != nil {
		return
	}
	defer b.Close()
	w.mu.Lock()
	lost := w.cut == i || w.cut == j
	if !lost {
		w.open[a], w.open[b] = [2]int{i, j}, [2]int{i, j}
	}
	w.mu.Unlock()
	if lost {
		return
	}
	defer func() {
		w.mu.Lock()
		delete(w.open, a)
		delete(w.open, b)
		w.mu.Unlock()
	}()
	go func() { _, _ = io.Copy(b, a); b.Close(); a.Close() }()
	_, _ = io.Copy(a, b)
}

// isolate cuts a server off; -1 mends all wires.
func (w *wires) isolate(server int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cut = server
	for c, ends := range w.open {
		if slices.Contains(ends[:], server) {
			c.Close()
		}
	}
}

// leads is the server that leads the documents of pilot.
func leads(t *testing.T, places []*Place) int {
	t.Helper()
	for end := time.Now().Add(2 * time.Minute); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		status, err := places[0].Status(t.Context())
		if err != nil {
			continue
		}
		for _, o := range status.Owners {
			for i, p := range places {
				if o.Name == "pilot" && o.Streams[0].Leader == p.Name() {
					return i
				}
			}
		}
	}
	t.Fatal("nobody leads")
	return 0
}

// A server that is cut off from the other two changes nothing and answers nothing, also where
// it led before; the others go on and revoke. When it is back it has all, and refuses who was
// revoked meanwhile.
func TestPartition(t *testing.T) {
	t.Parallel()
	require.Long(t, "80 s")
	w := newWires()
	places, _, hubs := three(t, w, nil)
	admin := reach(t, places[0])
	c, gone := credential(t, admin, alice), credential(t, admin, dc1)
	s := mustOpen(t, hubs[0].url+","+hubs[1].url+","+hubs[2].url, c)
	at, err := s.Create(t.Context(), "run/r1", []byte("0"))
	if err != nil {
		t.Fatal(err)
	}
	cut := leads(t, places)
	rest := slices.Delete(slices.Clone(hubs), cut, cut+1)
	restPlaces := slices.Delete(slices.Clone(places), cut, cut+1)
	there := mustOpen(t, hubs[cut].url, c)
	w.isolate(cut)
	both := mustOpen(t, rest[0].url+","+rest[1].url, c)
	if at, err = both.Update(t.Context(), "run/r1", []byte("1"), at); err != nil {
		t.Fatal(err)
	}
	if list, _, err := both.List(t.Context(), ""); err != nil || len(list) != 1 || string(list[0].Value) != "1" {
		t.Errorf("%v: %v", list, err)
	}
	for i, do := range []func(context.Context) error{
		func(ctx context.Context) error { _, err := there.Update(ctx, "run/r1", []byte("evil"), at); return err },
		func(ctx context.Context) error { _, err := there.Get(ctx, "run/r1"); return err },
		func(ctx context.Context) error { _, _, err := there.List(ctx, ""); return err },
		func(ctx context.Context) error { _, err := there.Lease(ctx, "device/fdo2", "x", time.Hour); return err },
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		err := do(ctx)
		cancel()
		if !errors.As(err, new(*store.UnavailableError)) {
			t.Errorf("the server that is cut off, question %d: %v", i, err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	other := reach(t, restPlaces[0])
	effects, err := other.Revoke(ctx, dc1.Name)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range effects {
		if e.Done == (e.Server == places[cut].Name()) {
			t.Errorf("%+v while %s is cut off", e, places[cut].Name())
		}
	}
	status, err := restPlaces[0].Status(ctx)
	if err != nil || status.Whole() || !slices.ContainsFunc(status.Issues, func(text string) bool {
		return strings.Contains(text, "server "+places[cut].Name()+" does not have all changes")
	}) {
		t.Errorf("%+v: %v", status, err)
	}
	w.isolate(-1)
	for {
		status, err := restPlaces[0].Status(ctx)
		if err == nil && status.Whole() {
			break
		}
		if ctx.Err() != nil {
			t.Fatalf("%+v: %v", status, err)
		}
		time.Sleep(50 * time.Millisecond)
	}
	if e, err := mustOpen(t, hubs[cut].url, c).Get(ctx, "run/r1"); err != nil || string(e.Value) != "1" {
		t.Errorf("%v: %v", e, err)
	}
	for ; ; time.Sleep(50 * time.Millisecond) {
		if _, err := open(t, hubs[cut].url, gone); err != nil {
			break
		}
		if ctx.Err() != nil {
			t.Fatal("a credential that was revoked is let in")
		}
	}
}

// One of three servers whose disk is full refuses changes that its clients ask of it, and
// serves reads. The others go on, revocation is in effect on all, and hub status names it.
func TestOneIsFull(t *testing.T) {
	t.Parallel()
	require.Long(t, "15 s")
	var d fakeDisk
	places, hows, hubs := three(t, nil, func(list []*Place) { d.of(list[2]) })
	admin := reach(t, places[0])
	c, gone := credential(t, admin, alice), credential(t, admin, dc1)
	s := mustOpen(t, hubs[0].url, c)
	at, err := s.Create(t.Context(), "run/r1", []byte("0"))
	if err != nil {
		t.Fatal(err)
	}
	d.free.Store(1 << 20)
	full := mustOpen(t, hubs[2].url, c)
	if _, err := full.Create(t.Context(), "run/r2", nil); err == nil || !strings.Contains(err.Error(), "the disk of server hub3 has") {
		t.Errorf("%v", err)
	}
	for i := range 6 { // a client that knows the other servers moves there
		if _, err := mustOpen(t, hubs[2].url+","+hubs[0].url+","+hubs[1].url, c).Create(t.Context(), fmt.Sprintf("other/r%d", i), nil); err != nil {
			t.Errorf("client %d: %v", i, err)
		}
	}
	for _, through := range hubs {
		one := mustOpen(t, through.url, c)
		if e, err := one.Get(t.Context(), "run/r1"); err != nil || string(e.Value) != "0" {
			t.Errorf("%v: %v", e, err)
		}
		if list, _, err := one.List(t.Context(), "run"); err != nil || len(list) != 1 {
			t.Errorf("%v: %v", list, err)
		}
	}
	if at, err = s.Update(t.Context(), "run/r1", []byte("1"), at); err != nil {
		t.Error(err)
	}
	if err := full.Delete(t.Context(), "run/r1", at); err == nil { // below what is left for revocations
		t.Error("a removal takes what is left for revocations")
	}
	named := func(p *Place) bool {
		status, err := p.Status(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return !status.Whole() && slices.ContainsFunc(status.Issues, func(text string) bool {
			return strings.Contains(text, "hub3") || strings.Contains(text, places[2].dir)
		})
	}
	for _, p := range places {
		for end := time.Now().Add(2 * time.Minute); !named(p); time.Sleep(50 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("%s does not name hub3", p.Name())
			}
		}
	}
	d.free.Store(0)
	effects, err := admin.Revoke(t.Context(), dc1.Name)
	if err != nil || len(effects) != 3 {
		t.Fatalf("%v: %v", effects, err)
	}
	for _, e := range effects {
		if !e.Done {
			t.Errorf("%s does not act by the revocation", e.Server)
		}
	}
	for _, h := range hubs {
		if _, err := open(t, h.url, gone); err == nil {
			t.Errorf("%s lets in who was revoked", h.p.Name())
		}
	}
	if err := hubs[2].stop(); err != nil { // and with a full disk again
		t.Fatal(err)
	}
	again := serve(t, places[2], hows[2])
	if e, err := mustOpen(t, again.url, c).Get(t.Context(), "run/r1"); err != nil || string(e.Value) != "1" {
		t.Errorf("%v: %v", e, err)
	}
	d.free.Store(1 << 40)
	for end := time.Now().Add(2 * time.Minute); named(places[0]); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("hub3 has room, and is said to be full")
		}
	}
}

// A hub whose directory is deleted ends: what it would acknowledge is nowhere.
func TestDirectoryDeleted(t *testing.T) {
	t.Parallel()
	p := found(t, Founding{Plain: true})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ready, ended := make(chan string, 1), make(chan error, 1)
	go func() {
		ended <- p.Serve(ctx, Serving{Listen: "127.0.0.1:0", Ready: func(at string) { ready <- at }})
	}()
	a := mustOpen(t, <-ready, credential(t, reach(t, p), alice))
	if _, err := a.Create(t.Context(), "run/r1", nil); err != nil {
		t.Fatal(err)
	}
	for os.RemoveAll(p.dir) != nil {
		time.Sleep(time.Millisecond) // it wrote meanwhile
	}
	select {
	case err := <-ended:
		if err == nil || !strings.Contains(err.Error(), "is gone") {
			t.Errorf("it ends with %v", err)
		}
	case <-time.After(5 * time.Minute):
		t.Fatal("it goes on without its directory")
	}
	short, stop := context.WithTimeout(t.Context(), time.Second)
	defer stop()
	if _, err := a.Get(short, "run/r1"); !errors.As(err, new(*store.UnavailableError)) {
		t.Errorf("%v", err)
	}
}
