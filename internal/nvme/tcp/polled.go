package tcp

import (
	"errors"
	"math"
	"os"
	"time"

	"weft/internal/nvme/rawsock"
)

// polled is a target's connection with a poller. Only the poller uses it, but
// for what the connection's own locks guard.
type polled struct {
	c      *targetConn
	loop   *pollLoop
	sock   *rawsock.Socket
	number int32
	silent int   // turns in a row with nothing to do
	due    bool  // it is among those of a crowd that get a turn
	heeds  uint8 // what it is watched for; 0: it is not watched
	from   *origin

	stuck bool      // the socket takes nothing of what is to be sent
	sent  uint64    // bytes, when the clock was last looked at
	moved time.Time // when that was last more than before

	deadline time.Time // for Connect, or for lingering
	expired  bool
	why      error // the connection ends, and the host is given time to hear it
	shut     bool  // nothing more is sent
}

// begin makes the connection ready for turns and reports whether it lives.
func (p *polled) begin() bool {
	c := p.c
	c.rx.least = readVector
	sock, err := rawsock.Detach(c.conn)
	if err != nil {
		_ = c.conn.Close()
		c.l.ended(c)
		return false
	}
	c.conn, p.sock = nil, sock
	c.out = newPolledOutbox(sock, &c.l.pool, p.loop.attend)
	c.account(p.loop.attend)
	if c.handler = c.l.accept(c); c.handler == nil {
		c.out.stop()
		c.incoming.Close()
		_ = sock.Close()
		c.l.ended(c)
		return false
	}
	p.deadline = time.Now().Add(c.l.params.Timeout)
	return true
}

// turn reads, works and sends once. over says that the connection has ended;
// then end is called.
func (p *polled) turn() (did, over bool) {
	c := p.c
	if c.hangup.Load() {
		return true, true
	}
	if p.expired {
		return true, p.giveUp()
	}
	n, err := p.take()
	if err != nil && p.fail(err) {
		return true, true
	}
	sent := false
	if c.out.unsent.Load() {
		if sent, err = c.out.push(p.sends()); err != nil && p.fail(err) {
			return true, true
		}
	}
	p.stuck = !sent && c.out.unsent.Load()
	if p.why != nil && !p.shut && !c.out.unsent.Load() {
		p.shut = true
		_ = p.sock.CloseWrite()
	}
	return n > 0 || c.begun > 0 || sent, false
}

// sends is how many bytes a turn sends at most.
func (p *polled) sends() int {
	if p.c.most == 0 {
		return math.MaxInt
	}
	return 2 * turnBytes // what the turn has begun, and of what the socket did not take before
}

// take reads and works, unless there is no room for the command that is next.
func (p *polled) take() (n int, err error) {
	c := p.c
	c.begun = 0
	if c.full && c.out.full.Load() {
		return 0, nil
	}
	if !c.full {
		if n, err = p.sock.Read(c.rx.windows()); n == 0 || p.why != nil {
			return n, err
		}
		c.rx.filled(n)
	}
	c.out.hold()
	if err = c.rx.drain(c); err == errFull {
		err = nil
	}
	c.out.unhold()
	return n, err
}

// fail notes why the connection ends and reports whether it does so at once:
// a host that broke the protocol is told.
func (p *polled) fail(err error) (now bool) {
	f := (*fatal)(nil)
	if p.why != nil || !errors.As(err, &f) {
		if p.why == nil {
			p.why = err
		}
		return true
	}
	p.why = err
	p.c.sayWhy(f)
	p.c.out.flush()
	p.c.full = false
	p.c.rx = newReceiver() // what follows is dropped
	p.c.rx.buf = make([]byte, readSize)
	p.deadline = time.Now().Add(lingerTime)
	p.expired = false
	return false
}

// late reports whether the host has had its time: to connect, to read something
// of what was sent to it, or to hear why the connection ends.
func (p *polled) late(now time.Time) bool {
	if p.why != nil || !p.c.isConnected() {
		return now.After(p.deadline)
	}
	if !p.stuck || p.sent != p.c.out.sent {
		p.sent, p.moved = p.c.out.sent, now
	}
	return now.Sub(p.moved) > p.c.l.params.Timeout
}

// giveUp ends a connection that is late.
func (p *polled) giveUp() bool {
	if p.why == nil {
		p.why = os.ErrDeadlineExceeded
		if p.c.isConnected() {
			p.why = unread(p.why, p.c.l.params.Timeout)
		}
	}
	return true
}

// cools reports whether nothing has happened here for a while, nor will until the
// host says or reads something.
func (p *polled) cools() bool {
	after := coolAfter
	if p.stuck {
		after = coolStuck
	}
	return p.silent >= after && p.why == nil && !p.wanted()
}

// What a connection that is watched waits for.
const (
	heedWatched = 1 << iota // at least for its end
	heedRead
	heedWrite
)

// heed is what the connection waits for.
func (p *polled) heed() uint8 {
	heed := uint8(heedWatched)
	if !p.c.full || !p.c.out.full.Load() {
		heed |= heedRead
	}
	if p.stuck {
		heed |= heedWrite
	}
	return heed
}

// wanted reports whether the connection needs a turn.
func (p *polled) wanted() bool {
	c := p.c
	return c.hangup.Load() || c.out.unsent.Load() && !p.stuck || c.full && !c.out.full.Load()
}

// end releases everything and tells the handler.
func (p *polled) end() {
	c := p.c
	err := p.why
	if !errors.As(err, new(*fatal)) {
		if c.hangup.Load() {
			err = nil
		} else if broken := c.out.failure(); broken != nil {
			err = broken
		}
	}
	_ = p.sock.Close()
	c.out.stop()
	c.bury()
	c.handler.Disconnected(err)
	c.l.ended(c)
}
