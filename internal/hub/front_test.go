package hub

import (
	"bufio"
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"
)

// Silent connections are closed in time, and however many there are, others log in.
func TestSilentConnections(t *testing.T) {
	t.Parallel()
	p := found(t, Founding{})
	var mu sync.Mutex
	var notes []string
	h := serve(t, p, Serving{Note: func(text string) { mu.Lock(); notes = append(notes, text); mu.Unlock() }})
	c := credential(t, reach(t, p), alice)
	at := strings.TrimPrefix(h.url, "tls://")
	var silent []net.Conn
	for range 3 * unauthenticated.all / 2 {
		conn, err := net.Dial("tcp", at)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		silent = append(silent, conn)
	}
	s := mustOpen(t, h.url, c)
	if _, err := s.Create(t.Context(), "run/r1", nil); err != nil {
		t.Error(err)
	}
	for _, conn := range silent {
		if err := conn.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(io.Discard, bufio.NewReader(conn)); err != nil && errors.As(err, new(net.Error)) && err.(net.Error).Timeout() {
			t.Fatal("a silent connection is kept")
		}
	}
	if _, err := s.Get(t.Context(), "run/r1"); err != nil {
		t.Errorf("who has logged in: %v", err)
	}
	mu.Lock()
	defer mu.Unlock()
	if all := strings.Join(notes, "\n"); !strings.Contains(all, "connections that did not log in") {
		t.Errorf("it is not reported: %s", all)
	}
}

// The oldest connection of the address that has most gives way.
func TestExcess(t *testing.T) {
	t.Parallel()
	f := &front{budget: budget{all: 4, each: 2}}
	add := func(address string) *peer {
		g := &peer{address: address}
		f.waiting = append(f.waiting, g)
		return g
	}
	a1 := add("a")
	add("a")
	if f.excess("a") != nil {
		t.Error("two of an address are too many")
	}
	add("a")
	if f.excess("a") != a1 {
		t.Error("the oldest of an address with three does not give way")
	}
	a1.spoke = true
	if f.excess("a") != f.waiting[1] {
		t.Error("a client that has sent something gives way to silent ones")
	}
	f.waiting = f.waiting[1:]
	add("b")
	add("c")
	if f.excess("c") != nil {
		t.Error("four are too many")
	}
	add("d")
	if f.excess("d") != f.waiting[0] {
		t.Error("the oldest of the busiest address does not give way")
	}
	for addr, want := range map[string]string{"10.0.0.1:5": "10.0.0.1", "[::ffff:10.0.0.1]:5": "10.0.0.1", "[2001:db8:1:2:3::1]:5": "2001:db8:1:2::/64"} {
		a, err := net.ResolveTCPAddr("tcp", addr)
		if err != nil || counted(a) != want {
			t.Errorf("%s counts for %s: %v", addr, counted(a), err)
		}
	}
}
