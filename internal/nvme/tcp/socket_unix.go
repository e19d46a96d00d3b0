//go:build linux || darwin

package tcp

import (
	"io"
	"net"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// rawOf is the socket below a connection, nil if there is none.
func rawOf(c net.Conn) syscall.RawConn {
	sc, ok := c.(syscall.Conn)
	if !ok {
		return nil
	}
	raw, err := sc.SyscallConn()
	if err != nil {
		return nil
	}
	return raw
}

// tryWrite writes the batch until it is empty or the socket is full; then it
// asks to be called again, or says so.
func (o *outbox) tryWrite(fd uintptr) bool {
	var vec [8][]byte // as many as unix.Writev takes without allocating
	for o.send.size > 0 {
		n, err := unix.Writev(int(fd), vec[:o.send.vector(vec[:])])
		switch {
		case err == unix.EINTR:
		case err == unix.EAGAIN:
			o.try.again = !o.try.block
			return !o.try.block
		case err != nil:
			o.try.err = os.NewSyscallError("writev", err)
			return true
		default:
			o.send.wrote(n)
		}
	}
	return true
}

// tryRead reads what is there, if anything.
func (p *poller) tryRead(fd uintptr) bool {
	for {
		n, err := unix.Read(int(fd), p.buf)
		switch {
		case err == unix.EINTR:
			continue
		case err == unix.EAGAIN:
			p.n, p.err = 0, nil
		case err != nil:
			p.n, p.err = 0, os.NewSyscallError("read", err)
		case n == 0:
			p.n, p.err = 0, io.EOF
		default:
			p.n, p.err = n, nil
		}
		return true
	}
}
