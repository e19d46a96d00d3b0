package tcp

import (
	"errors"
	"net"
	"os"
	"syscall"
	"time"

	"weft/internal/nvme/fabric"
	"weft/internal/nvme/tls13"
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

	turn   *fabric.Turn
	turnFn func(fd uintptr) bool
}

func newPoller(c net.Conn) *poller {
	p := &poller{conn: c, raw: rawOf(c)}
	p.fn = p.tryRead
	p.turnFn = p.readInTurn
	return p
}

// readInTurn is tryRead in a turn, which is left again where there is nothing.
func (p *poller) readInTurn(fd uintptr) bool {
	p.turn.Take()
	p.tryRead(fd)
	if p.n > 0 {
		return true
	}
	p.turn.Leave()
	return p.err != nil
}

// wait reads once there is something, in a turn, which goes on if there is. Who
// waits for something to read has none.
func (p *poller) wait(b []byte, turn *fabric.Turn) (n int, err error) {
	if s, ok := p.conn.(*tls13.Conn); ok {
		return openInTurn(s, b, turn)
	}
	if p.raw == nil {
		if n, err = p.conn.Read(b); n > 0 {
			turn.Take()
		}
		return n, err
	}
	p.buf, p.turn = b, turn
	if err := p.raw.Read(p.turnFn); err != nil {
		return 0, err
	}
	return p.n, p.err
}

// openInTurn is wait where what comes has to be opened, which is work of the turn.
func openInTurn(s *tls13.Conn, b []byte, turn *fabric.Turn) (n int, err error) {
	for n == 0 && err == nil {
		if err = s.Await(); err != nil {
			return 0, err
		}
		turn.Take()
		if n, err = s.ReadOne(b); n == 0 {
			turn.Leave()
		}
	}
	return n, err
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
