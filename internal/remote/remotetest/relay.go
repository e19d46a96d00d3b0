package remotetest

import (
	"net"
	"sync"
	"testing"
	"time"
)

// A Relay passes TCP connections on to an address, and does to them what
// networks do. What is asked of it holds for the connections that there are
// and for those to come.
type Relay struct {
	Address string // where it listens, on loopback

	to   string
	work sync.WaitGroup

	mu     sync.Mutex
	ends   map[net.Conn]bool // both of every connection
	delay  time.Duration
	frozen bool
	cut    bool // no connection lives
	left   int  // bytes from clients until the cut; -1: there is none
	once   bool // the cut is mended at once
	passed int  // bytes from clients
	trips  int
	quiet  time.Duration // how long both ends are silent when one waits; 0: nobody counts
}

// NewRelay relays until the test ends.
func NewRelay(t testing.TB, to string) *Relay {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r := &Relay{Address: listener.Addr().String(), to: to, ends: map[net.Conn]bool{}, left: -1}
	r.work.Go(func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			r.work.Go(func() { r.relay(c) })
		}
	})
	t.Cleanup(func() {
		listener.Close()
		r.Cut()
		r.work.Wait()
	})
	return r
}

// Delay makes every byte take that long, each way.
func (r *Relay) Delay(d time.Duration) { r.set(func() { r.delay = d }) }

// Freeze keeps the connections and loses every byte.
func (r *Relay) Freeze() { r.set(func() { r.frozen = true }) }

// CutAfter ends all connections, and lets no other live, when clients have
// sent that many more bytes.
func (r *Relay) CutAfter(n int) { r.set(func() { r.left = n }) }

// BreakAfter ends all connections when clients have sent that many more bytes,
// once: later ones live.
func (r *Relay) BreakAfter(n int) { r.set(func() { r.left, r.once = n, true }) }

// Cut ends all connections and lets no other live, until Mend.
func (r *Relay) Cut() {
	r.set(func() {
		r.cut, r.left = true, -1
		for c := range r.ends {
			c.Close()
		}
	})
}

// Mend lets connections live again.
func (r *Relay) Mend() { r.set(func() { r.cut, r.frozen, r.left = false, false, -1 }) }

// Passed is how many bytes clients have sent.
func (r *Relay) Passed() (n int) { r.set(func() { n = r.passed }); return n }

// HalfClose ends what comes from the server, and keeps the other way open.
func (r *Relay) HalfClose() {
	r.set(func() {
		for c := range r.ends {
			if c.LocalAddr().String() == r.Address {
				c.(*net.TCPConn).CloseWrite()
			}
		}
	})
}

// CountTrips starts to count round trips at 0. Answers are from then on held
// back until neither end has said anything for so long: what a client then
// says is what it had to wait for an answer to say. A client, or a server, that
// pauses for longer makes it count more, never less: on a busy machine it is to be
// longer.
func (r *Relay) CountTrips(quiet time.Duration) { r.set(func() { r.quiet, r.trips = quiet, 0 }) }

// Trips is how many times clients have waited for an answer.
func (r *Relay) Trips() (n int) { r.set(func() { n = r.trips }); return n }

func (r *Relay) set(do func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	do()
}

// relay passes one connection on.
func (r *Relay) relay(client net.Conn) {
	defer client.Close()
	server, err := net.Dial("tcp", r.to)
	if err != nil {
		return
	}
	defer server.Close()
	alive := true
	r.set(func() {
		alive = !r.cut
		r.ends[client], r.ends[server] = true, true
	})
	defer r.set(func() { delete(r.ends, client); delete(r.ends, server) })
	if !alive {
		return
	}
	spoke := make(chan struct{}, 1)
	asked, answered := make(chan parcel, 64), make(chan parcel, 64)
	var both sync.WaitGroup
	both.Go(func() { r.receive(client, asked, r.fromClient) })
	both.Go(func() { r.receive(server, answered, func(n int) int { return n }) })
	both.Go(func() {
		defer server.(*net.TCPConn).CloseWrite()
		for p := range asked {
			if !r.send(server, p) {
				server.Close()
			}
			select {
			case spoke <- struct{}{}:
			default:
			}
		}
	})
	both.Go(func() {
		defer client.(*net.TCPConn).CloseWrite()
		r.answer(client, answered, spoke)
	})
	both.Wait()
}

// A parcel is what was read at once, and when it is due.
type parcel struct {
	data []byte
	due  time.Time
}

// receive reads from a connection until it ends. allow says how much of what
// was read may pass.
func (r *Relay) receive(c net.Conn, to chan<- parcel, allow func(int) int) {
	defer close(to)
	for {
		buf := make([]byte, 32<<10)
		n, err := c.Read(buf)
		p, frozen := parcel{}, false
		r.set(func() { frozen, p.due = r.frozen, time.Now().Add(r.delay) })
		if n = allow(n); n > 0 && !frozen {
			p.data = buf[:n]
			to <- p
		}
		if err != nil {
			return
		}
	}
}

// fromClient counts what clients say, up to where they are cut off.
func (r *Relay) fromClient(n int) int {
	over := false
	r.set(func() {
		if over = r.left >= 0 && n > r.left; over {
			n, r.left = r.left, -1 // what else comes is lost, and cuts no second time
		}
		if r.left >= 0 {
			r.left -= n
		}
		r.passed += n
	})
	if over {
		// What was allowed to pass arrives; nothing more does.
		time.AfterFunc(100*time.Millisecond, func() {
			once := false
			r.set(func() { once, r.once = r.once, false })
			if r.Cut(); once {
				r.Mend()
			}
		})
		r.Freeze()
	}
	return n
}

// send passes a parcel on when it is due; false: the connection has ended.
func (r *Relay) send(c net.Conn, p parcel) bool {
	time.Sleep(time.Until(p.due))
	_, err := c.Write(p.data)
	return err == nil
}

// answer passes on what the server says, in a way that can be counted.
func (r *Relay) answer(client net.Conn, answered <-chan parcel, spoke <-chan struct{}) {
	asked := false // since the last answer
	for p := range answered {
		var quiet time.Duration
		r.set(func() { quiet = r.quiet })
		for open := quiet > 0; open; {
			select {
			case more, ok := <-answered:
				if open = ok; ok {
					p.data = append(p.data, more.data...)
				}
			case <-spoke:
				asked = true
			case <-time.After(quiet):
				open = false
			}
		}
		if quiet > 0 && asked {
			asked = false
			r.set(func() { r.trips++ })
		}
		if !r.send(client, p) {
			client.Close()
		}
	}
}
