package tcp_test

import (
	"context"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"weft/internal/nvme/fabric"
	"weft/internal/nvme/tcp"
	"weft/internal/nvme/wire"
)

// slow is null that takes its time.
type slow struct{ null }

func (h *slow) Execute(x *fabric.Exchange) {
	dawdle()
	h.null.Execute(x)
}

// dawdle takes less than a reader looks, about as long, or longer.
func dawdle() {
	if d := rand.N(150 * time.Microsecond); d > 20*time.Microsecond {
		time.Sleep(d)
	}
}

// TestLate: whether a reader still looks, is about to sleep or sleeps when something
// comes, it is read. More connections than processors do so at a time.
func TestLate(t *testing.T) {
	h := &slow{null{data: make([]byte, 4096)}}
	tr := new(tcp.Transport)
	l, err := tr.Listen(context.Background(), fabric.ListenParams{Addr: "127.0.0.1:0"}, func(fabric.Conn) fabric.Handler { return h })
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	var all sync.WaitGroup
	for range 6 {
		all.Go(func() {
			q, err := tr.Dial(context.Background(), fabric.DialParams{Addr: l.Addr(), QID: 1, Depth: 1, Timeout: time.Minute})
			if err != nil {
				t.Error(err)
				return
			}
			defer q.Close()
			connect := wire.ConnectCommand{QID: 1, SQSize: 1, Attributes: wire.ConnectNoFlow}.Command()
			if c, err := fabric.Do(q, &connect, make([]byte, wire.ConnectDataSize)); err != nil || c.Status != wire.Success {
				t.Error(c.Status, err)
				return
			}
			read := wire.Command{Opcode: wire.OpRead}
			for i := range 400 {
				if i%3 > 0 { // one in three at once
					dawdle()
				}
				if c, err := fabric.Do(q, &read, make([]byte, 4096)); err != nil || c.Status != wire.Success {
					t.Errorf("read %d: %v, %v", i, c.Status, err)
					return
				}
			}
		})
	}
	all.Wait()
}
