//go:build linux || darwin

package tcp

import (
	"fmt"
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

// setToS sets the type of service of a socket: both kinds of it where IPv4 comes
// through a socket of IPv6.
func setToS(socket any, tos uint8) error {
	sc, ok := socket.(syscall.Conn)
	if !ok {
		return fmt.Errorf("set the type of service of a %T: it has no socket", socket)
	}
	raw, err := sc.SyscallConn()
	if err != nil {
		return fmt.Errorf("set the type of service: %w", err)
	}
	var four, six error
	err = raw.Control(func(fd uintptr) {
		four = unix.SetsockoptInt(int(fd), unix.IPPROTO_IP, unix.IP_TOS, int(tos))
		six = unix.SetsockoptInt(int(fd), unix.IPPROTO_IPV6, unix.IPV6_TCLASS, int(tos))
	})
	if err == nil && four != nil && six != nil {
		err = four
	}
	if err != nil {
		return fmt.Errorf("set the type of service to %d: %w", tos, err)
	}
	return nil
}

// tryWrite writes the batch until it is empty or the socket is full; then it
// asks to be called again, or says so. The writer, which may block, does so in
// turns.
func (o *outbox) tryWrite(fd uintptr) bool {
	if o.try.block && o.turn != nil {
		o.turn.Take()
		defer o.turn.Leave()
	}
	var vec [8][]byte // as many as unix.Writev takes without allocating
	before := o.send.size
	for o.send.size > 0 {
		if o.try.block && o.turn != nil && before-o.send.size >= turnBytes {
			o.turn.Pass()
			before = o.send.size
		}
		n, err := unix.Writev(int(fd), vec[:o.send.vector(vec[:])])
		switch {
		case err == unix.EINTR:
		case err == unix.EAGAIN:
			o.try.again = !o.try.block || o.send.size < before
			return o.try.again
		case err != nil:
			o.try.err = os.NewSyscallError("writev", err)
			return true
		default:
			o.send.wrote(n)
			o.fit(fd, n)
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
