package rawsock

import (
	"io"
	"net"
	"testing"

	"golang.org/x/sys/unix"
)

// TestHush: a hushed socket tells nobody of a little, is read all the same, and tells
// of all that is there once it may; the end it tells in any case.
func TestHush(t *testing.T) {
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
	peer, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer peer.Close()
	w, err := NewWatch()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if err := w.Add(s, 7, true, false); err != nil {
		t.Fatal(err)
	}
	tells := func() (told bool) {
		w.Poll(func(number int32) { told = number == 7 })
		return told
	}
	arrived := func(n int) { // whether the kernel tells of it or not
		for there := 0; there < n; {
			if there, err = unix.IoctlGetInt(int(s.FD()), unix.SIOCINQ); err != nil {
				t.Fatal(err)
			}
		}
	}
	hush := func(on bool) {
		t.Helper()
		if err := Hush(s.FD(), on); err != nil {
			t.Fatal(err)
		}
	}
	send := func(n int) {
		t.Helper()
		if _, err := peer.Write(make([]byte, n)); err != nil {
			t.Fatal(err)
		}
		arrived(n)
	}
	b := make([]byte, 2*hushBytes)

	hush(true)
	if send(100); tells() {
		t.Error("100 bytes are told of on a hushed socket")
	}
	if n, err := s.Read(b, nil); n != 100 || err != nil {
		t.Errorf("read %d of 100 bytes: %v", n, err)
	}
	send(100)
	if hush(false); !tells() {
		t.Error("what came before is not told of")
	}
	if n, err := s.Read(b, nil); n != 100 || err != nil {
		t.Errorf("read %d of 100 bytes: %v", n, err)
	}
	hush(true)
	if send(hushBytes); !tells() {
		t.Errorf("%d bytes are not told of", hushBytes)
	}
	if n, err := s.Read(b, nil); n != hushBytes || err != nil {
		t.Errorf("read %d of %d bytes: %v", n, hushBytes, err)
	}
	if err := peer.Close(); err != nil {
		t.Fatal(err)
	}
	for !tells() { // soon
	}
	if _, err := s.Read(b, nil); err != io.EOF {
		t.Errorf("at the end: %v", err)
	}
}
