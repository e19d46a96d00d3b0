package tcp_test

import (
	"context"
	"fmt"
	"testing"

	"weft/internal/nvme/fabric"
	"weft/internal/nvme/tcp"
	"weft/internal/nvme/tls13"
	"weft/internal/nvme/wire"
)

// null answers reads with memory that is always there, and drops writes.
type null struct{ data []byte }

func (h *null) Begin(x *fabric.Exchange) (int, wire.Status) {
	if x.Command.Direction() == wire.ToController {
		return x.Length(), wire.Success
	}
	return 0, wire.Success
}

func (h *null) Execute(x *fabric.Exchange) {
	if x.Command.Direction() == wire.ToHost {
		x.Push(fabric.Buffer{Bytes: h.data[:x.Length()]})
	}
	x.Complete(0, wire.Success)
}

func (h *null) Disconnected(error) {}

// nullQueue is a connected queue with a null handler behind it.
func nullQueue(tb testing.TB, depth int) fabric.Queue {
	return nullQueueOver(tb, depth, new(tcp.Transport))
}

func nullQueueOver(tb testing.TB, depth int, tr *tcp.Transport) fabric.Queue {
	tb.Helper()
	h := &null{data: make([]byte, 1<<20)}
	l, err := tr.Listen(context.Background(), fabric.ListenParams{Addr: "127.0.0.1:0"}, func(fabric.Conn) fabric.Handler { return h })
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = l.Close() })
	q, err := tr.Dial(context.Background(), fabric.DialParams{Addr: l.Addr(), QID: 1, Depth: depth, InCapsule: fabric.DefaultInCapsule})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = q.Close() })
	connect := wire.ConnectCommand{QID: 1, SQSize: uint16(depth), Attributes: wire.ConnectNoFlow}.Command()
	if c, err := fabric.Do(q, &connect, make([]byte, wire.ConnectDataSize)); err != nil || c.Status != wire.Success {
		tb.Fatal(c.Status, err)
	}
	return q
}

// run keeps depth commands outstanding until n have completed.
func run(tb testing.TB, q fabric.Queue, op uint8, size, depth, n int) {
	buf := make([]byte, depth*size)
	done := make([]wire.Completion, depth)
	submitted := 0
	var cmd wire.Command
	submit := func(tag uint16) {
		cmd = wire.Command{Opcode: op, NSID: 1}
		cmd.SetBlocks(0, size/512)
		if err := q.Submit(tag, &cmd, fabric.Buffer{Bytes: buf[int(tag)*size:][:size]}); err != nil {
			tb.Fatal(err)
		}
		submitted++
	}
	for tag := 0; tag < depth && submitted < n; tag++ {
		submit(uint16(tag))
	}
	for completed := 0; completed < n; {
		k, err := q.Wait(done)
		if err != nil {
			tb.Fatal(err)
		}
		completed += k
		for i := range done[:k] {
			if submitted < n {
				submit(done[i].CID)
			}
		}
	}
}

func BenchmarkLoopback(b *testing.B) {
	for _, c := range []struct {
		name  string
		op    uint8
		size  int
		depth int
	}{
		{"read", wire.OpRead, 4 << 10, 1},
		{"read", wire.OpRead, 4 << 10, 32},
		{"write", wire.OpWrite, 4 << 10, 32},
		{"read", wire.OpRead, 128 << 10, 32},
		{"write", wire.OpWrite, 128 << 10, 32},
	} {
		k := tlsKey(tls13.AES128SHA256)
		for over, tr := range map[string]*tcp.Transport{"": {}, "/tls": {Offers: []tls13.Key{k}, Keys: known(k)}} {
			b.Run(fmt.Sprintf("%s/size=%dKiB/depth=%d%s", c.name, c.size>>10, c.depth, over), func(b *testing.B) {
				q := nullQueueOver(b, c.depth, tr)
				run(b, q, c.op, c.size, c.depth, 4*c.depth)
				b.SetBytes(int64(c.size))
				b.ReportAllocs()
				b.ResetTimer()
				run(b, q, c.op, c.size, c.depth, b.N)
			})
		}
	}
}
