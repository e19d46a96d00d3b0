package hub

import (
	"fmt"
	"io"
	"net"
	"net/netip"
	"slices"
	"sync"
	"time"
)

// A front accepts clients and passes their bytes on to the server, which listens on
// loopback only. The server counts all connections alike: enough silent ones would keep
// everyone out. Connections that have not logged in are the front's, with a budget of
// their own: so many altogether, so many of an address, and a time to log in. A new one
// that is too many replaces one of the address that has most: the oldest that is silent,
// or the oldest.
type front struct {
	ln     net.Listener
	to     string // the server
	note   func(string)
	budget budget

	mu      sync.Mutex
	open    map[*peer]bool
	waiting []*peer // that have not logged in, the oldest first
	parked  []*peer // that were too many, the oldest first
	closed  int     // of them, since the last line of the log
	logged  time.Time
	over    bool
	group   sync.WaitGroup
}

// A budget is of connections that have not logged in.
type budget struct {
	all, each int
	parked    int // that were too many, and are kept until their time is over
	time      time.Duration
}

var unauthenticated = budget{all: 256, each: 32, parked: 1024, time: 5 * time.Second}

// A peer is a connection of a client.
type peer struct {
	conn    net.Conn
	inner   net.Conn // to the server; nil until it is there
	address string   // it counts for
	spoke   bool     // the client has sent something
	parked  bool
	timer   *time.Timer
}

func (f *front) serve() {
	for {
		conn, err := f.ln.Accept()
		f.mu.Lock()
		over := f.over
		f.mu.Unlock()
		switch {
		case over:
			if err == nil {
				conn.Close()
			}
			return
		case err != nil: // no descriptors, or it was reset already
			time.Sleep(10 * time.Millisecond)
			continue
		}
		g := &peer{conn: conn, address: counted(conn.RemoteAddr())}
		f.mu.Lock()
		f.open[g] = true
		f.waiting = append(f.waiting, g)
		g.timer = time.AfterFunc(f.budget.time, func() { f.expire(g) })
		excess := f.excess(g.address)
		f.mu.Unlock()
		if excess != nil {
			f.park(excess)
		}
		f.group.Go(func() { f.carry(g) })
	}
}

// counted is what an address counts for: of IPv6 its network, as one host has all of it.
func counted(addr net.Addr) string {
	ap, err := netip.ParseAddrPort(addr.String())
	if err != nil {
		return addr.String()
	}
	ip := ap.Addr().Unmap()
	if ip.Is6() {
		if net, err := ip.WithZone("").Prefix(64); err == nil {
			return net.String()
		}
	}
	return ip.String()
}

// excess is the connection that has to go, if there are too many now that a new one came
// from an address.
func (f *front) excess(address string) *peer {
	of := map[string]int{}
	for _, g := range f.waiting {
		of[g.address]++
	}
	if of[address] <= f.budget.each {
		if len(f.waiting) <= f.budget.all {
			return nil
		}
		for a, n := range of {
			if n > of[address] {
				address = a
			}
		}
	}
	if i := slices.IndexFunc(f.waiting, func(g *peer) bool { return g.address == address && !g.spoke }); i >= 0 {
		return f.waiting[i]
	}
	return f.waiting[slices.IndexFunc(f.waiting, func(g *peer) bool { return g.address == address })]
}

// expire ends a connection that has not logged in in time.
func (f *front) expire(g *peer) {
	f.mu.Lock()
	waiting := slices.Contains(f.waiting, g)
	f.mu.Unlock()
	f.end(g)
	if waiting {
		f.report(g)
	}
}

// park takes a connection out of the budget. It is closed when its time is over, and not
// before: a client that connects again as soon as it is closed has to wait that long.
func (f *front) park(g *peer) {
	f.mu.Lock()
	f.waiting = slices.DeleteFunc(f.waiting, func(w *peer) bool { return w == g })
	f.parked = append(f.parked, g)
	g.parked = true
	inner := g.inner
	var oldest *peer
	if len(f.parked) > f.budget.parked {
		oldest = f.parked[0]
	}
	f.mu.Unlock()
	if inner != nil {
		inner.Close()
	}
	if oldest != nil {
		f.end(oldest)
	}
	f.report(g)
}

// report counts connections that did not log in, and logs how many there are at times.
func (f *front) report(g *peer) {
	f.mu.Lock()
	f.closed++
	n := 0
	if now := time.Now(); now.Sub(f.logged) > 10*time.Second {
		n, f.closed, f.logged = f.closed, 0, now
	}
	f.mu.Unlock()
	if n > 0 {
		f.note(fmt.Sprintf("closed %d connections that did not log in, the last from %s", n, g.address))
	}
}

// end closes a connection.
func (f *front) end(g *peer) {
	f.mu.Lock()
	same := func(w *peer) bool { return w == g }
	f.waiting, f.parked = slices.DeleteFunc(f.waiting, same), slices.DeleteFunc(f.parked, same)
	delete(f.open, g)
	inner := g.inner
	f.mu.Unlock()
	g.timer.Stop()
	g.conn.Close()
	if inner != nil {
		inner.Close()
	}
}

// carry passes bytes on in both directions until one side ends.
func (f *front) carry(g *peer) {
	inner, err := net.DialTimeout("tcp", f.to, f.budget.time)
	if err != nil {
		f.end(g)
		return
	}
	f.mu.Lock()
	g.inner = inner
	if g.parked {
		inner.Close()
	}
	f.mu.Unlock()
	f.group.Go(func() {
		f.send(g, inner) // until either side has ended
		f.end(g)
	})
	_, _ = io.Copy(g.conn, inner)
	f.mu.Lock()
	parked := g.parked
	f.mu.Unlock()
	if !parked {
		f.end(g)
	}
	inner.Close()
}

// send passes on what the client sends.
func (f *front) send(g *peer, inner net.Conn) {
	first := make([]byte, 4<<10)
	n, err := g.conn.Read(first)
	if err != nil {
		return
	}
	f.mu.Lock()
	g.spoke = true
	f.mu.Unlock()
	if _, err := inner.Write(first[:n]); err == nil {
		_, _ = io.Copy(inner, g.conn)
	}
}

// loggedIn takes a connection out of the budget. It reports whether the address, as the
// server sees it, is of one that came through the front.
func (f *front) loggedIn(addr net.Addr) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	i := slices.IndexFunc(f.waiting, func(g *peer) bool {
		return g.inner != nil && addr != nil && g.inner.LocalAddr().String() == addr.String()
	})
	if i < 0 {
		return false
	}
	f.waiting[i].timer.Stop()
	f.waiting = slices.Delete(f.waiting, i, i+1)
	return true
}

// from is where a client is that the server sees at an address of loopback.
func (f *front) from(addr string) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	for g := range f.open {
		if g.inner != nil && g.inner.LocalAddr().String() == addr {
			return g.conn.RemoteAddr().String()
		}
	}
	return addr
}

func (f *front) stop() {
	f.mu.Lock()
	f.over = true
	f.ln.Close()
	var open []*peer
	for g := range f.open {
		open = append(open, g)
	}
	f.mu.Unlock()
	for _, g := range open {
		f.end(g)
	}
	f.group.Wait()
}
