package rdma_test

import (
	"net/netip"
	"testing"

	"weft/internal/nvme/fabric"
	"weft/internal/nvme/nvmetest"
	"weft/internal/nvme/rdma"
	"weft/internal/nvme/rdma/verbs/verbstest"
	"weft/internal/nvme/wire"
)

// A watched handler tells of whose commands are performed, and keeps the first flush
// until it is let go.
type watched struct {
	fabric.Handler
	source string
	begun  chan string
	let    chan struct{}
}

func (w watched) Execute(x *fabric.Exchange) {
	w.begun <- w.source
	if x.Command.Opcode == wire.OpFlush {
		<-w.let
	}
	w.Handler.Execute(x)
}

// TestHostsHaveTurns: a host whose one command has come behind very many of another,
// who has many connections, waits for a few of those only.
func TestHostsHaveTurns(t *testing.T) {
	const connections, depth, most = 6, 32, 20
	f := new(verbstest.Fabric)
	tr := memory(t, f)
	let, begun := make(chan struct{}), make(chan string, 2*connections*depth)
	disk := &nvmetest.Disk{Data: make([]byte, 1<<20)}
	l, err := tr.Listen(t.Context(), fabric.ListenParams{Addr: "10.0.0.1:0", Processors: 1}, func(c fabric.Conn) fabric.Handler {
		return watched{disk.Accept(c), fabric.Source(c.Remote()), begun, let}
	})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	begin := func(from string) fabric.Queue {
		q, err := (&rdma.Transport{Verbs: f, From: netip.MustParseAddr(from)}).Dial(t.Context(), fabric.DialParams{Addr: l.Addr(), QID: 1, Depth: depth, Timeout: patience})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = q.Close() })
		connect := wire.ConnectCommand{QID: 1, SQSize: depth}.Command()
		if c, err := fabric.Do(q, &connect, make([]byte, wire.ConnectDataSize)); err != nil || c.Status != wire.Success {
			t.Fatal(c.Status, err)
		}
		return q
	}
	submit := func(q fabric.Queue, tag uint16, op uint8) {
		cmd := wire.Command{Opcode: op, NSID: 1}
		if err := q.Submit(tag, &cmd, fabric.Buffer{}); err != nil {
			t.Fatal(err)
		}
		if _, err := q.Poll(nil); err != nil { // sends it
			t.Fatal(err)
		}
	}
	var busy []fabric.Queue
	for range connections {
		busy = append(busy, begin("10.0.0.2"))
	}
	other := begin("10.0.0.3")
	for range connections + 1 {
		<-begun // that they connect
	}
	submit(busy[0], 0, wire.OpFlush)
	<-begun
	for tag := range uint16(depth - 1) {
		for _, q := range busy {
			submit(q, tag+1, nvmetest.OpEcho)
		}
	}
	submit(other, 0, nvmetest.OpEcho)
	close(let)
	for before := 0; <-begun != "10.0.0.3"; before++ {
		if before == most {
			t.Fatalf("the other host waits behind more than %d commands", most)
		}
	}
}
