//go:build linux || darwin

package tcp_test

import (
	"context"
	"net"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"weft/internal/nvme/fabric"
	"weft/internal/nvme/nvmetest"
	"weft/internal/nvme/tcp"
)

// accepting keeps what it has accepted.
type accepting struct {
	*net.TCPListener
	conns chan net.Conn
}

func (a accepting) Accept() (net.Conn, error) {
	c, err := a.TCPListener.Accept()
	if err == nil {
		a.conns <- c
	}
	return c, err
}

// TestToS asks both ends' sockets what they send with.
func TestToS(t *testing.T) {
	const tos = 104
	for _, addr := range []string{"127.0.0.1:0", "[::1]:0"} {
		if l, err := net.Listen("tcp", addr); err != nil {
			t.Logf("%s: %v", addr, err)
			continue
		} else {
			_ = l.Close()
		}
		dialled, accepted := make(chan net.Conn, 1), make(chan net.Conn, 1)
		tr := &tcp.Transport{
			ToS: tos,
			ListenAddr: func(_ context.Context, addr string) (net.Listener, error) {
				l, err := net.Listen("tcp", addr)
				if err != nil {
					return nil, err
				}
				return accepting{l.(*net.TCPListener), accepted}, nil
			},
			DialAddr: func(_ context.Context, addr string) (net.Conn, error) {
				c, err := net.Dial("tcp", addr)
				if err == nil {
					dialled <- c
				}
				return c, err
			},
		}
		disk := &nvmetest.Disk{Data: make([]byte, 4096)}
		l, err := tr.Listen(t.Context(), fabric.ListenParams{Addr: addr}, disk.Accept)
		if err != nil {
			t.Fatal(err)
		}
		q, err := tr.Dial(t.Context(), fabric.DialParams{Addr: l.Addr(), Depth: 1, Timeout: patience})
		if err != nil {
			t.Fatal(err)
		}
		for end, c := range map[string]net.Conn{"host": <-dialled, "target": <-accepted} {
			if got := tosOf(t, c, addr[0] == '['); got != tos {
				t.Errorf("%s of %s sends with %d, want %d", end, addr, got, tos)
			}
		}
		if err := q.Close(); err != nil {
			t.Error(err)
		}
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	}
}

func tosOf(t *testing.T, c net.Conn, six bool) (tos int) {
	t.Helper()
	raw, err := c.(syscall.Conn).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	level, option := unix.IPPROTO_IP, unix.IP_TOS
	if six {
		level, option = unix.IPPROTO_IPV6, unix.IPV6_TCLASS
	}
	if e := raw.Control(func(fd uintptr) { tos, err = unix.GetsockoptInt(int(fd), level, option) }); e != nil || err != nil {
		t.Fatal(e, err)
	}
	return tos
}
