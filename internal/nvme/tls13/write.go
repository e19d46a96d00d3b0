package tls13

import (
	"net"
	"time"
)

// Write sends all of b, or the connection is at its end.
func (c *Conn) Write(b []byte) (int, error) {
	v := net.Buffers{b}
	n, err := c.WriteBuffers(&v)
	return int(n), err
}

// WriteBuffers sends all pieces as if they were one, in records as full as can be. It
// consumes v as net.Buffers do.
func (c *Conn) WriteBuffers(v *net.Buffers) (int64, error) {
	c.wmu.Lock()
	defer c.wmu.Unlock()
	var sent int64
	for c.werr == nil && more(v) {
		n := c.sealSome(v)
		if _, c.werr = c.conn.Write(c.sealed); c.werr == nil {
			sent += int64(n)
		}
	}
	return sent, c.werr
}

// sealSome makes records of as much as is sent in one call, and says how much that is.
func (c *Conn) sealSome(v *net.Buffers) (n int) {
	if c.turn != nil {
		c.turn.Take()
		defer c.turn.Leave()
	}
	c.sealed = c.sealed[:0]
	if c.owes.Swap(false) || c.out.seq >= c.renew {
		c.sealed = c.out.seal(c.sealed, recordHandshake, keyUpdate(false))
		c.out.update()
	}
	for len(c.sealed) < sealMost && more(v) {
		n += c.sealNext(v)
	}
	return n
}

// more drops what is empty, and reports whether anything is left.
func more(v *net.Buffers) bool {
	for len(*v) > 0 && len((*v)[0]) == 0 {
		*v = (*v)[1:]
	}
	return len(*v) > 0
}

// sealNext puts as much as one record holds into one, and says how much that is.
func (c *Conn) sealNext(v *net.Buffers) int {
	first := (*v)[0]
	if len(first) >= maxPlain || len(*v) == 1 { // needs no gathering
		n := min(len(first), maxPlain)
		c.sealed = c.out.seal(c.sealed, recordData, first[:n])
		(*v)[0] = first[n:]
		return n
	}
	c.gather = c.gather[:0]
	for len(c.gather) < maxPlain && more(v) {
		k := min(len((*v)[0]), maxPlain-len(c.gather))
		c.gather = append(c.gather, (*v)[0][:k]...)
		(*v)[0] = (*v)[0][k:]
	}
	c.sealed = c.out.seal(c.sealed, recordData, c.gather)
	return len(c.gather)
}

// say sends one message of the handshake; several may share a record.
func (c *Conn) say(messages ...[]byte) error {
	c.wmu.Lock()
	defer c.wmu.Unlock()
	var all []byte
	for _, m := range messages {
		all = append(all, m...)
	}
	return c.send(recordHandshake, all)
}

// send writes one record. The caller holds wmu.
func (c *Conn) send(kind byte, plain []byte) error {
	if c.werr != nil {
		return c.werr
	}
	c.sealed = c.out.seal(c.sealed[:0], kind, plain)
	_, c.werr = c.conn.Write(c.sealed)
	return c.werr
}

// compat sends what middleboxes expect to see. Appendix D.4.
func (c *Conn) compat() error {
	c.wmu.Lock()
	defer c.wmu.Unlock()
	if c.werr == nil {
		_, c.werr = c.conn.Write([]byte{recordCCS, 3, 3, 0, 1, 1})
	}
	return c.werr
}

// farewell is how long an alert may wait for a peer that does not read.
const farewell = 100 * time.Millisecond

// alert tells the peer, unless a write is under way: nobody waits to say that it is
// over. Nothing is sent after it.
func (c *Conn) alert(level byte, a Alert) {
	if !c.wmu.TryLock() {
		return
	}
	defer c.wmu.Unlock()
	if c.werr == nil {
		_ = c.conn.SetWriteDeadline(time.Now().Add(farewell))
		_ = c.send(recordAlert, []byte{level, byte(a)})
		if c.werr == nil {
			c.werr = net.ErrClosed
		}
	}
}

// CloseWrite says that this is all, unless a write is still under way; reading goes on.
func (c *Conn) CloseWrite() error {
	c.alert(1, closeNotify)
	if half, ok := c.conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

// Close says that this is all, where that can be said at once, and ends the
// connection.
func (c *Conn) Close() error {
	if !c.over.Swap(true) {
		c.alert(1, closeNotify)
	}
	return c.conn.Close()
}
