package tcp

import (
	"errors"
	"net"
	"os"
	"syscall"
	"time"
)

// pollSlice is how long a read without blocking may block on connections that
// cannot do better.
const pollSlice = 20 * time.Microsecond

// A poller reads from a connection without blocking. Its deadline is shared
// with blocking reads, which set their own.
type poller struct {
	conn net.Conn
	raw  syscall.RawConn

	buf []byte // of the read in progress
	n   int
	err error
	fn  func(fd uintptr) bool
}

func newPoller(c net.Conn) *poller {
	p := &poller{conn: c, raw: rawOf(c)}
	p.fn = p.tryRead
	return p
}

// read returns 0 and no error if there is nothing to read.
func (p *poller) read(b []byte) (int, error) {
	if p.raw == nil {
		_ = p.conn.SetReadDeadline(time.Now().Add(pollSlice))
		n, err := p.conn.Read(b)
		if errors.Is(err, os.ErrDeadlineExceeded) {
			err = nil
		}
		return n, err
	}
	n, err := p.look(b)
	if errors.Is(err, os.ErrDeadlineExceeded) { // left over from a blocking read
		_ = p.conn.SetReadDeadline(time.Time{})
		n, err = p.look(b)
	}
	return n, err
}

// look is read on a socket, for which a deadline counts.
func (p *poller) look(b []byte) (int, error) {
	p.buf = b
	if err := p.raw.Read(p.fn); err != nil {
		return 0, err
	}
	return p.n, p.err
}
