package rdma_test

import (
	"testing"
	"time"

	"weft/internal/nvme/fabric"
	"weft/internal/nvme/rdma/verbs/verbstest"
	"weft/internal/nvme/wire"
)

// A keeper is a handler that keeps writes until it is told to let them go.
type keeper struct {
	fabric.Handler
	kept chan *fabric.Exchange
}

func (k keeper) Execute(x *fabric.Exchange) {
	if x.Command.Opcode == wire.OpWrite {
		k.kept <- x
		return
	}
	k.Handler.Execute(x)
}

// TestWritesWaitForRoom: of a host that announces more data than there is room for
// only a part is fetched, and in the end all of it.
func TestWritesWaitForRoom(t *testing.T) {
	const writes, size, most = 20, 32 << 10, 3 // at a time: 64 KiB and one more
	f := new(verbstest.Fabric)
	memory(t, f)
	kept := make(chan *fabric.Exchange, writes)
	addr, _ := servedAs(t, f, fabric.ListenParams{MaxTransfer: size, Budget: fabric.NewBudget(1)}, func(h fabric.Handler) fabric.Handler { return keeper{h, kept} })
	req := wire.RDMARequest{QID: 1, HRQSize: writes + 2, HSQSize: writes + 1}
	private, _ := req.AppendBinary(nil)
	h, err := offer(t, f, addr, private, 4)
	if err != nil {
		t.Fatal(err)
	}
	h.connects(t, writes)
	for i := range writes {
		cmd := wire.Command{Opcode: wire.OpWrite, CID: uint16(i), SGL: wire.SGL{Type: wire.SGLKeyed, Address: h.mr.Addr + atData, Length: size, Key: h.mr.Remote}}
		cmd.SetBlocks(0, size/512)
		h.command(&cmd)
	}
	h.command(&wire.Command{Opcode: wire.OpFlush, CID: writes}) // is answered when all were looked at
	if c := h.answer(); c == nil || c.CID != writes || c.Status != wire.Success {
		t.Fatalf("flush: %+v", c)
	}
	for done := 0; done < writes; done++ {
		if len(kept) > most {
			t.Fatalf("the data of %d writes was fetched at a time", len(kept))
		}
		select {
		case x := <-kept:
			x.Complete(0, wire.Success)
		case <-time.After(patience):
			t.Fatalf("nothing is fetched after %d writes", done)
		}
		if c := h.answer(); c == nil || c.Status != wire.Success {
			t.Fatalf("write: %+v", c)
		}
	}
}
