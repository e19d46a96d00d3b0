package guest

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"weft/internal/slice"
)

const (
	// maxFrame is more than the largest Ethernet frame that virtio sends.
	maxFrame = 128 << 10
	// queued is how many frames may wait for one port before more are lost, as
	// they are in the buffers of a switch.
	queued = 4096
)

// A Hub is a plane: every frame that comes in at one port goes out at all the
// others. It can cut ports, delay frames, and it counts.
//
// Frames travel as QEMU's stream backend writes them: the length in four bytes,
// most significant first, then the frame.
type Hub struct {
	name    string
	watch   func(Passage) // told of what has passed; nil: nobody wants to know
	working sync.WaitGroup

	mu     sync.Mutex
	ports  []*Port
	delay  time.Duration
	closed bool
}

// A Port is where one card is plugged into a hub.
type Port struct {
	card Card
	hub  *Hub
	conn net.Conn
	out  chan parcel
	gone chan struct{} // closed when nothing can be sent any more

	cut    bool   // guarded by hub.mu
	counts Counts // guarded by hub.mu
}

// Counts are what a port has seen since it was plugged in.
type Counts struct {
	In, Out           uint64 // frames from and to the guest
	InBytes, OutBytes uint64 // bytes of those frames
	Lost              uint64 // frames that a cut or a full queue swallowed, in either direction
}

// Traffic is what one card has seen of its plane.
type Traffic struct {
	Plane  string
	Counts Counts
}

// A parcel is a frame and when it may leave.
type parcel struct {
	frame []byte // with its length in front
	due   time.Time
}

// NewHub makes a hub without ports.
func NewHub(name string) *Hub { return &Hub{name: name} }

// Name is the plane's name.
func (h *Hub) Name() string { return h.name }

// Plug connects a card. The hub owns the connection from now on; the port is
// there until the connection ends or the hub is closed.
func (h *Hub) Plug(card Card, conn net.Conn) (*Port, error) {
	p := &Port{card: card, hub: h, conn: conn, out: make(chan parcel, queued), gone: make(chan struct{})}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return nil, errors.Join(fmt.Errorf("plane %s: %w", h.name, net.ErrClosed), conn.Close())
	}
	h.ports = append(h.ports, p)
	h.working.Go(p.receive)
	h.working.Go(p.send)
	return p, nil
}

// Delay makes every frame that comes in from now on wait before it goes out.
func (h *Hub) Delay(d time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.delay = d
}

// Cut swallows every frame of every port, or lets them pass again. The cards
// do not see it: their carrier stays.
func (h *Hub) Cut(on bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, p := range h.ports {
		p.cut = on
	}
}

// Close unplugs everything and waits until nothing moves.
func (h *Hub) Close() error {
	h.mu.Lock()
	h.closed = true
	errs := slice.Map(h.ports, func(p *Port) error { return p.conn.Close() })
	h.mu.Unlock()
	h.working.Wait()
	return errors.Join(errs...)
}

// spread gives a frame to every port but the one it came from, and returns the
// ports that it is meant for where it is asked for.
func (h *Hub) spread(from *Port, frame []byte) (reached []*Port) {
	h.mu.Lock()
	defer h.mu.Unlock()
	size := uint64(len(frame) - lengthSize)
	from.counts.In++
	from.counts.InBytes += size
	if from.cut {
		from.counts.Lost++
		return nil
	}
	due := time.Time{}
	if h.delay > 0 {
		due = time.Now().Add(h.delay)
	}
	for _, p := range h.ports {
		if p == from {
			continue
		}
		if p.cut {
			p.counts.Lost++
			continue
		}
		select {
		case p.out <- parcel{frame, due}:
			p.counts.Out++
			p.counts.OutBytes += size
			if h.watch != nil && p.card.takes(frame[lengthSize:]) {
				reached = append(reached, p)
			}
		default:
			p.counts.Lost++
		}
	}
	return reached
}

// unplug forgets a port whose connection has ended.
func (h *Hub) unplug(gone *Port) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for n, p := range h.ports {
		if p == gone {
			h.ports = append(h.ports[:n], h.ports[n+1:]...)
			_ = p.conn.Close() // it has ended
			return
		}
	}
}

// Cut swallows every frame of this port, or lets them pass again.
func (p *Port) Cut(on bool) {
	p.hub.mu.Lock()
	defer p.hub.mu.Unlock()
	p.cut = on
}

// follows makes the port as cut as a former one of the same plane.
func (p *Port) follows(former *Port) {
	p.hub.mu.Lock()
	defer p.hub.mu.Unlock()
	p.cut = former.cut
}

// Counts is what the port has seen so far.
func (p *Port) Counts() Counts {
	p.hub.mu.Lock()
	defer p.hub.mu.Unlock()
	return p.counts
}

// receive takes frames from the guest until the connection ends.
func (p *Port) receive() {
	defer close(p.gone)
	defer p.hub.unplug(p)
	for {
		frame, err := readFrame(p.conn)
		if err != nil {
			return // the guest has ended, or what it sends makes no sense
		}
		for _, to := range p.hub.spread(p, frame) {
			p.hub.watch(Passage{From: p.card, To: to.card, DSCP: dscp(frame[lengthSize:]), Bytes: len(frame) - lengthSize})
		}
	}
}

// send gives frames to the guest, each when it is due.
func (p *Port) send() {
	for {
		select {
		case <-p.gone:
			return
		case next := <-p.out:
			if wait := time.Until(next.due); !next.due.IsZero() && wait > 0 {
				select {
				case <-p.gone:
					return
				case <-time.After(wait):
				}
			}
			if _, err := p.conn.Write(next.frame); err != nil {
				_ = p.conn.Close() // ends receive, which tidies up
				return
			}
		}
	}
}

const lengthSize = 4

// readFrame reads one frame, and returns it with its length in front.
func readFrame(r io.Reader) ([]byte, error) {
	var length [lengthSize]byte
	if _, err := io.ReadFull(r, length[:]); err != nil {
		return nil, err
	}
	n := binary.BigEndian.Uint32(length[:])
	if n == 0 || n > maxFrame {
		return nil, fmt.Errorf("a frame of %d bytes", n)
	}
	frame := make([]byte, lengthSize+n)
	copy(frame, length[:])
	_, err := io.ReadFull(r, frame[lengthSize:])
	return frame, err
}
