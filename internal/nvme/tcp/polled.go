package tcp

import (
	"errors"
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
	silent int // turns in a row with nothing to do

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
	if c.handler = c.l.accept(c); c.handler == nil {
		c.out.stop()
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
	n, err := p.sock.Read(c.rx.windows())
	if n > 0 && p.why == nil {
		c.rx.filled(n)
		c.out.hold()
		err = c.rx.drain(c)
		c.out.unhold()
	}
	if err != nil && p.fail(err) {
		return true, true
	}
	sent := false
	if c.out.unsent.Load() {
		if sent, err = c.out.push(); err != nil && p.fail(err) {
			return true, true
		}
	}
	if p.why != nil && !p.shut && !c.out.unsent.Load() {
		p.shut = true
		_ = p.sock.CloseWrite()
	}
	return n > 0 || sent, false
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
	p.c.rx = newReceiver() // what follows is dropped
	p.c.rx.buf = make([]byte, readSize)
	p.deadline = time.Now().Add(lingerTime)
	p.expired = false
	return false
}

// late reports whether the host has had its time, to connect or to hear why
// the connection ends.
func (p *polled) late(now time.Time) bool {
	if p.why == nil && p.c.isConnected() {
		return false
	}
	return now.After(p.deadline)
}

// giveUp ends a connection that is late.
func (p *polled) giveUp() bool {
	if p.why == nil {
		p.why = os.ErrDeadlineExceeded
	}
	return true
}

// mayCool reports whether nothing happens here until the host says something.
func (p *polled) mayCool() bool { return p.why == nil && !p.wanted() }

// wanted reports whether the connection needs a turn.
func (p *polled) wanted() bool { return p.c.hangup.Load() || p.c.out.unsent.Load() }

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
