package tcp

import (
	"net"
	"testing"
	"time"

	"weft/internal/nvme/fabric"
)

// TestKeepQuiet: who reads from a connection after its spinner, as one that lingers does, is
// woken for a few bytes.
func TestKeepQuiet(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	far, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer far.Close()
	near, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer near.Close()
	if _, err := far.Write([]byte("command")); err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 64)
	spin := newSpinner(newPoller(near), 3, new(fabric.Spinning))
	for n := 0; n == 0; {
		if n, err = spin.read(b); err != nil {
			t.Fatal(err)
		}
		spin.credit = spinWorth // it looks until there is something
	}
	if !spin.hushed {
		t.Fatal("a look that found something does not keep the kernel quiet")
	}
	spin.keepQuiet(false)
	_ = near.SetReadDeadline(time.Now().Add(20 * time.Second))
	read := make(chan error, 1)
	go func() {
		_, err := near.Read(b)
		read <- err
	}()
	time.Sleep(50 * time.Millisecond) // until it blocks; sooner, it has less to show
	if _, err := far.Write([]byte("more")); err != nil {
		t.Fatal(err)
	}
	if err := <-read; err != nil {
		t.Errorf("a read after the spinner: %v", err)
	}
}
