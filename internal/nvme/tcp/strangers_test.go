package tcp_test

import (
	"errors"
	"io"
	"os"
	"testing"
	"time"

	"weft/internal/nvme/fabric"
	"weft/internal/nvme/nvmetest"
	"weft/internal/nvme/tcp"
	"weft/internal/nvme/wire"
)

// TestStrangersPushOutStrangers: any number of connections on which nobody
// connects cost a bounded number of them, not those of hosts.
func TestStrangersPushOutStrangers(t *testing.T) { strangers(t, new(tcp.Transport)) }

func strangers(t *testing.T, tr *tcp.Transport) {
	const most, more = 1024, 200
	disk := &nvmetest.Disk{Data: make([]byte, 1<<20)}
	l, err := tr.Listen(t.Context(), fabric.ListenParams{Addr: "127.0.0.1:0", Timeout: patience}, disk.Accept)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	host := func() fabric.Queue {
		q, err := tr.Dial(t.Context(), fabric.DialParams{Addr: l.Addr(), QID: 1, Depth: 2, Timeout: patience})
		if err != nil {
			t.Fatal(err)
		}
		connect := wire.ConnectCommand{QID: 1, SQSize: 2}.Command()
		if c, err := fabric.Do(q, &connect, make([]byte, wire.ConnectDataSize)); err != nil || c.Status != wire.Success {
			t.Fatal(c.Status, err)
		}
		return q
	}
	works := func(q fabric.Queue) {
		t.Helper()
		if c, err := fabric.Do(q, &wire.Command{Opcode: wire.OpFlush}, nil); err != nil || c.Status != wire.Success {
			t.Error(c.Status, err)
		}
	}
	first := host()
	defer first.Close()
	var all []*peer
	for i := range most + more {
		p := dialPeer(t, l.Addr())
		switch i % 3 { // some say nothing, some a little
		case 1:
			p.introduce()
		case 2:
			p.send(icReq(nil)[:7])
		}
		all = append(all, p)
	}
	works(first)
	last := host()
	defer last.Close()
	works(last)
	for _, p := range all[:more] {
		_ = p.conn.SetDeadline(time.Now().Add(patience)) // so many take their time to dial
		if _, err := io.Copy(io.Discard, p.conn); errors.Is(err, os.ErrDeadlineExceeded) {
			t.Fatal("an early stranger is still there")
		}
	}
	for deadline := time.Now().Add(patience); ; time.Sleep(time.Millisecond) { // handlers are told after the hosts
		open, _ := disk.Open()
		if open <= most+3 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d connections are open", open)
		}
	}
}

// TestCommandIDs: a host that uses the same command id twice at a time has both
// commands carried out: data is told apart by the transfer it was asked for.
func TestCommandIDs(t *testing.T) { commandIDs(t, new(tcp.Transport)) }

func commandIDs(t *testing.T, tr *tcp.Transport) {
	p := dialPeer(t, listenDiskOn(t, tr, fabric.ListenParams{}))
	p.connect()
	first, second := p.r2t(), p.r2t()
	if first.TTag == second.TTag {
		t.Fatalf("both commands are asked for transfer %d", first.TTag)
	}
	p.send(data(second, nil))
	p.send(data(first, nil))
	echo := wire.Command{Opcode: nvmetest.OpEcho, CID: first.CID, CDW10: 7}
	for range 2 {
		if c := p.response(); c.CID != first.CID || c.Status != wire.Success {
			t.Errorf("%+v", c)
		}
	}
	p.send(capsule(echo, 0, nil))
	if c := p.response(); c.CID != first.CID || c.Status != wire.Success || c.Result != 7 {
		t.Errorf("%+v", c)
	}
}

// TestSilentHosts: they are ended after the timeout, before and after ICReq, and
// those that are almost silent, too.
func TestSilentHosts(t *testing.T) { silentHosts(t, new(tcp.Transport)) }

func silentHosts(t *testing.T, tr *tcp.Transport) {
	const timeout = 50 * time.Millisecond
	addr := listenDiskOn(t, tr, fabric.ListenParams{Timeout: timeout})
	mute, slow := dialPeer(t, addr), dialPeer(t, addr)
	idle := dialPeer(t, addr)
	for within := timeout; !idle.answered(); idle = dialPeer(t, addr) { // ended before ICReq: a slow machine
		if within *= 2; within > patience {
			t.Fatal("no ICReq is answered")
		}
		addr = listenDiskOn(t, tr, fabric.ListenParams{Timeout: within})
	}
	gone := make(chan struct{})
	go func() { // one byte now and then does not keep a connection
		defer close(gone)
		for _, b := range icReq(nil) {
			if _, err := slow.conn.Write([]byte{b}); err != nil {
				return
			}
			time.Sleep(timeout)
		}
		t.Error("a host that says one byte after the other is still there")
	}()
	for _, p := range []*peer{mute, idle} {
		if term := p.end(); term != nil {
			t.Errorf("answered with %v", term.Reason)
		}
	}
	<-gone
}
