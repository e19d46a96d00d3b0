//go:build linux

package tcp_test

import (
	"context"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"weft/internal/nvme/fabric"
	"weft/internal/nvme/tcp"
	"weft/internal/nvme/wire"
)

// held keeps reads of one host until it is let go, and counts them.
type held struct {
	null
	inside *atomic.Int64
	let    chan struct{}
}

func (h *held) Execute(x *fabric.Exchange) {
	if x.Command.Opcode == wire.OpRead {
		h.inside.Add(1)
		<-h.let
	}
	h.null.Execute(x)
}

// TestOneHostsConnectionsHaveTurns: of a host's connections that wait for events only
// so many are worked for at a time; another host is served meanwhile, and in the
// end all of the first.
func TestOneHostsConnectionsHaveTurns(t *testing.T) {
	const most, connections = 2, 6
	var inside atomic.Int64
	let := make(chan struct{})
	data := make([]byte, 4096)
	l, err := new(tcp.Transport).Listen(context.Background(), fabric.ListenParams{Addr: "127.0.0.1:0", Turns: fabric.NewTurns(most, nil)}, func(c fabric.Conn) fabric.Handler {
		if fabric.Source(c.Remote()) == "127.0.0.2" {
			return &held{null{data}, &inside, let}
		}
		return &null{data}
	})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	begin := func(from string) fabric.Queue { return begun(t, l.Addr(), from) }
	read := wire.Command{Opcode: wire.OpRead, NSID: 1}
	read.SetBlocks(0, 8)
	var busy []fabric.Queue
	for range connections {
		busy = append(busy, begin("127.0.0.2"))
	}
	other := begin("127.0.0.3")
	for _, q := range busy {
		if err := q.Submit(0, &read, fabric.Buffer{Bytes: make([]byte, 4096)}); err != nil {
			t.Fatal(err)
		}
		if _, err := q.Poll(make([]wire.Completion, 1)); err != nil {
			t.Fatal(err)
		}
	}
	for end := time.Now().Add(time.Minute); inside.Load() < most; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d commands have begun, want %d", inside.Load(), most)
		}
	}
	if c, err := fabric.Do(other, &read, make([]byte, 4096)); err != nil || c.Status != wire.Success {
		t.Fatal(c.Status, err)
	}
	if n := inside.Load(); n != most {
		t.Errorf("%d connections of a host are worked for at a time, want %d", n, most)
	}
	close(let)
	for _, q := range busy {
		if _, err := q.Wait(make([]wire.Completion, 1)); err != nil {
			t.Fatal(err)
		}
	}
}

// begun is a queue of a host at an address.
func begun(t *testing.T, addr, from string) fabric.Queue {
	t.Helper()
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
	tr := &tcp.Transport{DialAddr: func(ctx context.Context, addr string) (net.Conn, error) { return dialer.DialContext(ctx, "tcp", addr) }}
	q, err := tr.Dial(context.Background(), fabric.DialParams{Addr: addr, QID: 1, Depth: 2})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = q.Close() })
	connect := wire.ConnectCommand{QID: 1, SQSize: 2}.Command()
	if c, err := fabric.Do(q, &connect, make([]byte, wire.ConnectDataSize)); err != nil || c.Status != wire.Success {
		t.Fatal(c.Status, err)
	}
	return q
}

// ends closes another connection for each read, when it is let.
type ends struct {
	null
	inside chan struct{}
	other  chan fabric.Conn
}

func (h *ends) Execute(x *fabric.Exchange) {
	if x.Command.Opcode == wire.OpRead {
		close(h.inside)
		(<-h.other).Close()
	}
	h.null.Execute(x)
}

// TestTurnEndsAConnectionThatWaits: what a command does may end another connection of
// the same host, as disabling a controller ends its queues, also while that one waits
// for the turn that the command has. A host could do no more at a target with one
// processor.
func TestTurnEndsAConnectionThatWaits(t *testing.T) {
	turns := fabric.NewTurns(1, nil)
	accepted, other, inside := make(chan fabric.Conn, 2), make(chan fabric.Conn), make(chan struct{})
	data := make([]byte, 4096)
	l, err := new(tcp.Transport).Listen(context.Background(), fabric.ListenParams{Addr: "127.0.0.1:0", Turns: turns}, func(c fabric.Conn) fabric.Handler {
		accepted <- c
		return &ends{null{data}, inside, other}
	})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	first := begun(t, l.Addr(), "127.0.0.2")
	<-accepted
	second := begun(t, l.Addr(), "127.0.0.2")
	mine := turns.Open("127.0.0.2:1")
	defer mine.Close()
	submit := func(q fabric.Queue) {
		read := wire.Command{Opcode: wire.OpRead, NSID: 1}
		read.SetBlocks(0, 8)
		if err := q.Submit(0, &read, fabric.Buffer{Bytes: make([]byte, 4096)}); err != nil {
			t.Fatal(err)
		}
		if _, err := q.Poll(make([]wire.Completion, 1)); err != nil {
			t.Fatal(err)
		}
	}
	submit(first)
	<-inside
	submit(second)
	for end := time.Now().Add(time.Minute); !mine.Wanted(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the second connection does not wait for its turn")
		}
	}
	other <- <-accepted
	answered := make(chan error, 1)
	go func() { _, err := first.Wait(make([]wire.Completion, 1)); answered <- err }()
	select {
	case err := <-answered:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(time.Minute):
		t.Error("who ended the other connection waits for it, and that one for the turn")
	}
}
