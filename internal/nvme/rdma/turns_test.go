package rdma_test

import (
	"net/netip"
	"sync/atomic"
	"testing"
	"time"

	"weft/internal/nvme/fabric"
	"weft/internal/nvme/nvmetest"
	"weft/internal/nvme/rdma"
	"weft/internal/nvme/rdma/verbs/verbstest"
	"weft/internal/nvme/wire"
)

// A held handler keeps whoever reads until it is let go.
type held struct {
	fabric.Handler
	inside *atomic.Int64
	let    chan struct{}
}

func (h held) Execute(x *fabric.Exchange) {
	if x.Command.Opcode == wire.OpRead {
		h.inside.Add(1)
		<-h.let
	}
	h.Handler.Execute(x)
}

// TestOneHostsConnectionsHaveTurns: of a host's connections only so many are worked
// for at a time; another host is served meanwhile, and in the end all of the first.
func TestOneHostsConnectionsHaveTurns(t *testing.T) {
	const most, connections = 2, 6
	f := new(verbstest.Fabric)
	tr := memory(t, f)
	let, inside := make(chan struct{}), new(atomic.Int64)
	disk := &nvmetest.Disk{Data: make([]byte, 1<<20)}
	l, err := tr.Listen(t.Context(), fabric.ListenParams{Addr: "10.0.0.1:0", Turns: fabric.NewTurns(most, nil)}, func(c fabric.Conn) fabric.Handler {
		if fabric.Source(c.Remote()) == "10.0.0.2" {
			return held{disk.Accept(c), inside, let}
		}
		return disk.Accept(c)
	})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	begin := func(from string) fabric.Queue {
		q, err := (&rdma.Transport{Verbs: f, From: netip.MustParseAddr(from)}).Dial(t.Context(), fabric.DialParams{Addr: l.Addr(), QID: 1, Depth: 2, Timeout: patience})
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
	read := wire.Command{Opcode: wire.OpRead, NSID: 1}
	read.SetBlocks(0, 8)
	var busy []fabric.Queue
	for range connections {
		busy = append(busy, begin("10.0.0.2"))
	}
	other := begin("10.0.0.3")
	for _, q := range busy {
		if err := q.Submit(0, &read, fabric.Buffer{Bytes: make([]byte, 4096)}); err != nil {
			t.Fatal(err)
		}
		if _, err := q.Poll(make([]wire.Completion, 1)); err != nil {
			t.Fatal(err)
		}
	}
	for end := time.Now().Add(patience); inside.Load() < most; time.Sleep(time.Millisecond) {
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
