//go:build unix

package simserver

import (
	"context"
	"io"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"weft/internal/wait"
)

// A load over more than one path is there to see a path go. Real agents talk on
// loopback, where no link can be cut, so such a load talks through relays, one
// for each portal: while no way leads from the server to the portal they hold
// back what is sent, as a network does that loses it until TCP sends it again.

// relays lead to portals. Close ends them.
type relays struct {
	from *Server
	maps []string // LOGICAL=REAL, as agents take them

	stop    context.CancelFunc
	ctx     context.Context
	running sync.WaitGroup
	lns     []net.Listener
}

// newRelays stands between a server's agents and portals that are mapped.
func (s *Server) newRelays(ctx context.Context, maps []string) (*relays, error) {
	r := &relays{from: s}
	r.ctx, r.stop = context.WithCancel(ctx)
	for _, m := range maps {
		logical, real, _ := strings.Cut(m, "=")
		at, err := netip.ParseAddrPort(logical)
		if err != nil || real == nowhere {
			r.maps = append(r.maps, m)
			continue
		}
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			r.close()
			return nil, err
		}
		r.lns = append(r.lns, ln)
		r.maps = append(r.maps, logical+"="+ln.Addr().String())
		way := &way{relays: r, to: at.Addr(), logical: logical, real: real}
		r.running.Go(func() { way.accept(ln) })
	}
	return r, nil
}

// A way leads to one portal.
type way struct {
	*relays
	to      netip.Addr
	logical string // as the fabric names it
	real    string // where it was when the load began

	mu   sync.Mutex
	seen time.Time // when it was open last
}

func (w *way) accept(ln net.Listener) {
	for {
		conn, err := ln.Accept()
		if err != nil {
			return // closed
		}
		w.running.Go(func() { w.carry(conn) })
	}
}

// carry moves bytes both ways until one end is done.
func (w *way) carry(near net.Conn) {
	defer near.Close()
	if !w.wait() {
		return
	}
	far, err := w.dial()
	if err != nil {
		return
	}
	defer far.Close()
	end := context.AfterFunc(w.ctx, func() {
		_ = near.Close()
		_ = far.Close()
	})
	defer end()
	var both sync.WaitGroup
	for _, ends := range [][2]net.Conn{{near, far}, {far, near}} {
		both.Go(func() {
			w.pump(ends[1], ends[0])
			_ = near.Close()
			_ = far.Close()
		})
	}
	both.Wait()
}

// dial reaches the portal. A target that was restarted listens on another port
// of loopback.
func (w *way) dial() (net.Conn, error) {
	var d net.Dialer
	far, err := d.DialContext(w.ctx, "tcp", w.real)
	if err == nil {
		return far, nil
	}
	for _, m := range w.from.net.portals(w.ctx) {
		if logical, real, _ := strings.Cut(m, "="); logical == w.logical && real != nowhere {
			return d.DialContext(w.ctx, "tcp", real)
		}
	}
	return nil, err
}

func (w *way) pump(to io.Writer, from io.Reader) {
	buf := make([]byte, 64<<10)
	for {
		n, err := from.Read(buf)
		if n > 0 {
			if !w.wait() {
				return
			}
			if _, err := to.Write(buf[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// lookAgain is how often a way that is cut is looked at.
const lookAgain = 20 * time.Millisecond

// wait returns when the way is open; false: the load has ended.
func (w *way) wait() bool {
	for !w.open() {
		if !wait.For(w.ctx, lookAgain) {
			return false
		}
	}
	return w.ctx.Err() == nil
}

// open looks at the way, unless it was open a moment ago.
func (w *way) open() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if time.Since(w.seen) < lookAgain {
		return true
	}
	if !w.from.net.reach(w.from, w.to).answers {
		return false
	}
	w.seen = time.Now()
	return true
}

func (r *relays) close() {
	r.stop()
	for _, ln := range slices.Clone(r.lns) {
		_ = ln.Close()
	}
	r.running.Wait()
}
