package tls13

import (
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// A Conn is a connection whose peer has shown that it has the key. Reads and writes
// may run side by side, each from any goroutine; deadlines are those of the
// connection below.
type Conn struct {
	conn   net.Conn
	key    Key
	client bool
	groups []group // that this end takes, the best first

	rmu   sync.Mutex
	in    half
	raw   []byte // from the connection
	r, w  int    // what of it is not yet opened
	plain []byte // opened, not yet read: a part of raw
	said  []byte // of messages of the handshake, not yet a whole one
	most  int    // bytes of a record
	empty int    // records in a row that carried nothing
	ccs   int    // records of middleboxes that may still come
	begun bool   // the peer has said something that is TLS
	rerr  error  // nothing is read any more

	wmu    sync.Mutex
	out    half
	sealed []byte
	gather []byte // of pieces that become one record
	werr   error  // nothing is written any more
	renew  uint64 // records after which the key is changed
	turn   Turn   // in which records are sealed; nil: at any time

	owes atomic.Bool // the peer has asked for a KeyUpdate
	over atomic.Bool // closed
}

// A Turn is what work is done in: Take waits for it, Leave ends it, and nothing is
// waited for in between.
type Turn interface {
	Take()
	Leave()
}

// SealIn has data sealed in turns from now on. It comes before the first write.
func (c *Conn) SealIn(t Turn) { c.turn = t }

// renewAfter is how many records are sent under one key: well below 2^24.5, the
// bound of AES-GCM for whole records. Section 5.5.
const renewAfter = 1 << 23

// sealMost is how many bytes of records are sent in one call.
const sealMost = 4 * (maxPlain + overhead)

func newConn(c net.Conn, client bool) *Conn {
	return &Conn{conn: c, client: client, groups: groups(), raw: make([]byte, 1<<10), most: maxHello, renew: renewAfter}
}

// Key is the key that both ends have shown to have.
func (c *Conn) Key() Key { return c.key }

// NetConn is the connection below.
func (c *Conn) NetConn() net.Conn { return c.conn }

// LocalAddr is that of the connection below.
func (c *Conn) LocalAddr() net.Addr { return c.conn.LocalAddr() }

// RemoteAddr is that of the connection below.
func (c *Conn) RemoteAddr() net.Addr { return c.conn.RemoteAddr() }

// SetDeadline bounds reads and writes. A write that it cuts off ends the connection.
func (c *Conn) SetDeadline(t time.Time) error { return c.conn.SetDeadline(t) }

// SetReadDeadline bounds reads, which may be tried again.
func (c *Conn) SetReadDeadline(t time.Time) error { return c.conn.SetReadDeadline(t) }

// SetWriteDeadline bounds writes. One that it cuts off ends the connection.
func (c *Conn) SetWriteDeadline(t time.Time) error { return c.conn.SetWriteDeadline(t) }

// Read is io.EOF only once the peer has said that this is all, and
// io.ErrUnexpectedEOF where the connection ends without that.
func (c *Conn) Read(b []byte) (int, error) {
	c.rmu.Lock()
	defer c.rmu.Unlock()
	if len(b) == 0 {
		return 0, nil
	}
	for {
		if n, err := c.one(b); n > 0 || err != nil {
			return n, err
		}
	}
}

// Await returns when there is something for ReadOne, of which nothing is opened yet.
func (c *Conn) Await() error {
	c.rmu.Lock()
	defer c.rmu.Unlock()
	if len(c.plain) > 0 || c.rerr != nil {
		return c.rerr
	}
	if _, err := c.ready(); err != nil {
		return c.fail(err)
	}
	return nil
}

// ReadOne is Read that opens one record at most: 0 bytes without an error may come of
// it. After Await it waits for nothing.
func (c *Conn) ReadOne(b []byte) (int, error) {
	c.rmu.Lock()
	defer c.rmu.Unlock()
	return c.one(b)
}

// one takes what was opened, or of the next record.
func (c *Conn) one(b []byte) (int, error) {
	if len(c.plain) == 0 {
		kind, plain, err := c.record()
		switch {
		case err != nil:
		case c.empty >= maxEmpty:
			err = broke(unexpectedMessage, "%d records in a row without data", c.empty+1)
		case kind == recordData:
			c.plain = plain
		default:
			err = c.later(kind, plain)
		}
		if err != nil {
			return 0, c.fail(err)
		}
		if c.empty++; len(c.plain) > 0 {
			c.empty = 0
		}
	}
	n := copy(b, c.plain)
	c.plain = c.plain[n:]
	return n, nil
}

// later takes what is not data after the handshake: keys that change, and tickets,
// for which there is no use.
func (c *Conn) later(kind byte, plain []byte) error {
	if kind != recordHandshake {
		return broke(unexpectedMessage, "a record of type %d after the handshake", kind)
	}
	c.said = append(c.said, plain...)
	for {
		m, err := c.next(maxMessage)
		if m == nil || err != nil {
			return err
		}
		switch {
		case m[0] == typeTicket && c.client:
		case m[0] == typeKeyUpdate && len(m) == 5 && m[4] <= 1 && len(c.said) == 0:
			c.in.update()
			if m[4] == 1 {
				c.owes.Store(true)
			}
		default:
			return broke(unexpectedMessage, "message %d of %d bytes after the handshake", m[0], len(m))
		}
	}
}

// next takes one whole message of the handshake from what was said; nil if there is
// none yet.
func (c *Conn) next(most int) ([]byte, error) {
	if len(c.said) < 4 {
		return nil, nil
	}
	n := 4 + int(c.said[1])<<16 + int(c.said[2])<<8 + int(c.said[3])
	if n > most {
		return nil, broke(decodeError, "a message of %d bytes, at most %d are taken", n, most)
	}
	if len(c.said) < n {
		return nil, nil
	}
	m := c.said[:n:n]
	if c.said = c.said[n:]; len(c.said) == 0 {
		c.said = nil
	}
	return m, nil
}

// record reads and opens the next record. Alerts are errors; what middleboxes want is
// dropped.
func (c *Conn) record() (kind byte, plain []byte, err error) {
	if c.rerr != nil {
		return 0, nil, c.rerr
	}
	for {
		raw, err := c.whole()
		if err != nil {
			return 0, nil, err
		}
		if raw[0] == recordCCS && c.ccs > 0 && len(raw) == headerSize+1 && raw[headerSize] == 1 {
			c.ccs--
			continue
		}
		kind, plain, err = c.in.open(raw)
		switch {
		case err != nil:
			return 0, nil, err
		case kind == recordAlert:
			if err := heard(plain); err != nil {
				return 0, nil, err
			}
			return kind, nil, broke(unexpectedMessage, "a warning where none belongs")
		case kind != recordData && len(plain) == 0:
			return 0, nil, broke(unexpectedMessage, "an empty record of type %d", kind)
		case kind == recordData && c.in.aead == nil:
			return 0, nil, broke(unexpectedMessage, "data without protection")
		}
		return kind, plain, nil
	}
}

// heard is what an alert means; nil if it means nothing.
func heard(plain []byte) error {
	if len(plain) != 2 {
		return broke(decodeError, "an alert of %d bytes", len(plain))
	}
	switch a := Alert(plain[1]); a {
	case closeNotify, userCanceled:
		return io.EOF
	default:
		return a
	}
}

// whole reads one whole record.
func (c *Conn) whole() ([]byte, error) {
	n, err := c.ready()
	if err != nil {
		return nil, err
	}
	record := c.raw[c.r : c.r+n]
	c.r += n
	return record, nil
}

// ready reads until a whole record is there, and says how long it is.
func (c *Conn) ready() (int, error) {
	if err := c.fill(headerSize); err != nil {
		return 0, err
	}
	h := c.raw[c.r:]
	if !c.begun && (h[0] < recordCCS || h[0] > recordData || h[1] != 3) {
		return 0, broke(unexpectedMessage, "%w: its first bytes are % x", ErrNotTLS, h[:headerSize])
	}
	c.begun = true
	most := c.most
	if c.in.aead == nil {
		most = min(most, maxPlain)
	}
	n := int(h[3])<<8 | int(h[4])
	if n > most {
		return 0, broke(recordOverflow, "a record of %d bytes, at most %d are taken", n, most)
	}
	return headerSize + n, c.fill(headerSize + n)
}

// fill reads until n bytes are there. What a deadline cuts off goes on later.
func (c *Conn) fill(n int) error {
	if c.r == c.w {
		c.r, c.w = 0, 0
	}
	if len(c.raw)-c.r < n {
		c.w = copy(c.raw, c.raw[c.r:c.w])
		c.r = 0
	}
	for c.w-c.r < n {
		if c.w == len(c.raw) { // grows as things come, not as they are announced
			c.raw = append(c.raw, make([]byte, min(2*len(c.raw), 2*maxRecord)-len(c.raw))...)
		}
		k, err := c.conn.Read(c.raw[c.w:])
		c.w += k
		if c.w-c.r >= n {
			return nil
		}
		if err == io.EOF {
			return io.ErrUnexpectedEOF
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// fail notes what ends reading, and tells the peer where that was its fault.
func (c *Conn) fail(err error) error {
	var t net.Error
	if errors.As(err, &t) && t.Timeout() {
		return err
	}
	if c.rerr == nil {
		c.rerr = err
		if b := (*breach)(nil); errors.As(err, &b) {
			c.alert(2, b.alert)
		}
	}
	return c.rerr
}
