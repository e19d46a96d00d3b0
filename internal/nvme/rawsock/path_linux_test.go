package rawsock

import (
	"net"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// A send buffer that was set is left to the kernel again.
func TestSendBuffer(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	conn, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	s, err := Detach(conn)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	lock := func() int {
		n, err := unix.GetsockoptInt(int(s.FD()), unix.SOL_SOCKET, unix.SO_BUF_LOCK)
		if err != nil {
			t.Skipf("this kernel does not say whether a send buffer was set (Linux 5.14 does): %v", err)
		}
		return n
	}
	if got := lock(); got != 0 {
		t.Fatalf("a new socket's buffers are locked: %d", got)
	}
	if err := SendBuffer(s.FD(), 96<<10); err != nil {
		t.Fatal(err)
	}
	if size, err := unix.GetsockoptInt(int(s.FD()), unix.SOL_SOCKET, unix.SO_SNDBUF); err != nil || size != 192<<10 || lock() != sndbufLock {
		t.Errorf("the send buffer is %d bytes, locked %d, %v; want twice %d, locked", size, lock(), err, 96<<10)
	}
	if err := SendBuffer(s.FD(), 0); err != nil || lock() != 0 {
		t.Errorf("the send buffer is not left to the kernel again: %v, locked %d", err, lock())
	}
	text, err := os.ReadFile("/proc/sys/net/core/wmem_max")
	if err != nil {
		t.Fatal(err)
	}
	most, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	if err := SendBuffer(s.FD(), most+4096); err == nil || !strings.Contains(err.Error(), "net.core.wmem_max") {
		t.Errorf("a send buffer beyond net.core.wmem_max: %v", err)
	}
	if path, err := ReadPath(s.FD()); err != nil || path.RTT < 0 || path.RTT > time.Minute {
		t.Errorf("the way to the peer: %+v, %v", path, err)
	}
}
