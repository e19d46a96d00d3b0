package target

import (
	"bytes"
	"context"
	"errors"
	"syscall"
	"testing"

	"weft/internal/nvme/backend"
	"weft/internal/nvme/fabric"
	"weft/internal/nvme/wire"
)

func blocks(op uint8, nsid uint32, lba uint64, n int) wire.Command {
	c := wire.Command{Opcode: op, NSID: nsid}
	c.SetBlocks(lba, n)
	return c
}

const fua = 1 << 30 // in CDW12

func TestReadWriteFlush(t *testing.T) {
	fabrics(t, func(t *testing.T, r *rig) {
		_, q := r.both()
		moved := uint64(0)
		for nsid, block := range map[uint32]int{1: 512, 3: 4096} {
			for _, n := range []int{1, 2, 16, MaxTransfer / block} {
				data := bytes.Repeat([]byte{byte(nsid), byte(n), 0x5a, 0xa5}, n*block/4)
				w := blocks(wire.OpWrite, nsid, 1, n)
				if n == 2 {
					w.CDW12 |= fua
				}
				r.want(wire.Success, q, w, data)
				r.want(wire.Success, q, wire.Command{Opcode: wire.OpFlush, NSID: nsid}, nil)
				got := make([]byte, len(data))
				rd := blocks(wire.OpRead, nsid, 1, n)
				if n == 2 {
					rd.CDW12 |= fua
				}
				r.want(wire.Success, q, rd, got)
				if !bytes.Equal(got, data) {
					t.Errorf("namespace %d: %d blocks differ", nsid, n)
				}
				moved += uint64(len(data))
			}
		}
		r.want(wire.Success, q, wire.Command{Opcode: wire.OpFlush, NSID: wire.NSIDAll}, nil)
		if s := r.target.Stats()[0]; s.BytesRead != moved || s.BytesWritten != moved {
			t.Errorf("%+v, want %d bytes each", s, moved)
		}
	})
}

func TestIORefused(t *testing.T) {
	fabrics(t, func(t *testing.T, r *rig) {
		_, q := r.both()
		b := make([]byte, 2*MaxTransfer)
		for _, op := range []uint8{wire.OpRead, wire.OpWrite, wire.OpCompare} {
			for _, c := range []struct {
				want wire.Status
				cmd  wire.Command
				n    int
			}{
				{wire.LBAOutOfRange, blocks(op, 1, 2048, 1), 512},
				{wire.LBAOutOfRange, blocks(op, 1, 2047, 2), 1024},
				{wire.LBAOutOfRange, blocks(op, 1, ^uint64(0), 1), 512},
				{wire.LBAOutOfRange, blocks(op, 3, 1<<63, 1), 4096},
				{wire.InvalidNamespace, blocks(op, 0, 0, 1), 512},
				{wire.InvalidNamespace, blocks(op, 2, 0, 1), 512},
				{wire.InvalidNamespace, blocks(op, wire.NSIDAll, 0, 1), 512},
				{wire.SGLInvalidLength, blocks(op, 1, 0, 2), 512},
				{wire.SGLInvalidLength, blocks(op, 1, 0, 1), 1024},
				{wire.SGLInvalidLength, blocks(op, 1, 0, 1), 0},
				{wire.InvalidField, blocks(op, 1, 0, 512), 2 * MaxTransfer},
				{wire.InvalidField, blocks(op, 3, 0, 65536), 4096},
			} {
				r.want(c.want.WithDNR(), q, c.cmd, b[:c.n])
			}
		}
		for _, op := range []uint8{0x04, 0x0c, 0x0d, 0x80, wire.OpIdentify} {
			r.want(wire.InvalidOpcode.WithDNR(), q, wire.Command{Opcode: op, NSID: 1}, nil)
		}
		r.want(wire.InvalidNamespace.WithDNR(), q, wire.Command{Opcode: wire.OpFlush, NSID: 7}, nil)
		r.want(wire.InvalidOpcode.WithDNR(), q, wire.PropertyCommand{Offset: wire.PropVS}.Command(), nil)
		fused := blocks(wire.OpRead, 1, 0, 1)
		fused.Flags = 1
		r.want(wire.InvalidField.WithDNR(), q, fused, b[:512])
		if s := r.target.Stats()[0]; s.BytesRead != 0 || s.BytesWritten != 0 {
			t.Errorf("refused commands moved data: %+v", s)
		}
	})
}

// broken is a backend with errors, and one that can be made to wait.
type broken struct {
	backend.Backend
	err      error
	compares bool          // CompareAndWrite fails while it writes
	entered  chan struct{} // if not nil: told when a read begins, which then
	leave    chan struct{} // waits for this
}

func (b *broken) Info() backend.Info {
	i := b.Backend.Info()
	i.MayBlock = b.entered != nil
	return i
}

func (b *broken) ReadBlocks(p []byte, lba uint64) error {
	if b.entered != nil {
		b.entered <- struct{}{}
		<-b.leave
	}
	return errors.Join(b.err, b.Backend.ReadBlocks(p, lba))
}

func (b *broken) WriteBlocks([]byte, uint64) error { return b.err }
func (b *broken) CompareAndWrite(_, _ []byte, _ uint64) (bool, error) {
	return b.compares, b.err
}
func (b *broken) ZeroBlocks(lba, n uint64, free bool) error { return b.err }
func (b *broken) Flush() error                              { return b.err }

func brokenRig(t *testing.T, b *broken) *rig {
	t.Helper()
	m, err := backend.NewMemory(1<<20, 512)
	if err != nil {
		t.Fatal(err)
	}
	b.Backend = m
	return rigOn(t, b)
}

func TestBackendErrors(t *testing.T) {
	b := &broken{}
	r := brokenRig(t, b)
	_, q := r.both()
	data := make([]byte, 512)
	oneBlock, _ := (&wire.DSMRange{Blocks: 1}).AppendBinary(nil)
	for _, c := range []struct {
		err                error
		read, write, flush wire.Status
	}{
		{errors.New("no answer"), wire.UnrecoveredRead, wire.WriteFault, wire.WriteFault},
		{syscall.ENOSPC, wire.CapacityExceeded, wire.CapacityExceeded, wire.CapacityExceeded},
		{backend.ErrRange, wire.LBAOutOfRange, wire.LBAOutOfRange, wire.LBAOutOfRange},
	} {
		b.err = c.err
		r.want(c.read.WithDNR(), q, blocks(wire.OpRead, 1, 0, 1), data)
		r.want(c.write.WithDNR(), q, blocks(wire.OpWrite, 1, 0, 1), data)
		r.want(c.read.WithDNR(), q, blocks(wire.OpCompare, 1, 0, 1), data)
		r.want(c.write.WithDNR(), q, blocks(wire.OpWriteZeroes, 1, 0, 1), nil)
		r.want(c.write.WithDNR(), q, wire.DSMCommand{NSID: 1, Ranges: 1, Deallocate: true}.Command(), oneBlock)
		r.want(c.flush.WithDNR(), q, wire.Command{Opcode: wire.OpFlush, NSID: 1}, nil)
		r.want(c.flush.WithDNR(), q, wire.Command{Opcode: wire.OpFlush, NSID: wire.NSIDAll}, nil)
	}
	b.err = nil
}

// A read that blocks does not hold up what comes behind it, and Drain waits
// for it, but lets nothing new begin.
func TestDrainFinishesWhatIsUnderWay(t *testing.T) {
	b := &broken{entered: make(chan struct{}), leave: make(chan struct{})}
	r := brokenRig(t, b)
	admin, q := r.both()
	data := make([]byte, 512)
	slow := blocks(wire.OpRead, 1, 0, 1)
	if err := q.Submit(7, &slow, fabric.Buffer{Bytes: data}); err != nil {
		t.Fatal(err)
	}
	if _, err := q.Poll(make([]wire.Completion, 1)); err != nil {
		t.Fatal(err)
	}
	<-b.entered
	other := blocks(wire.OpRead, 3, 0, 1)
	if err := q.Submit(8, &other, fabric.Buffer{Bytes: make([]byte, 4096)}); err != nil {
		t.Fatal(err)
	}
	done := make([]wire.Completion, 4)
	if n, err := q.Wait(done); err != nil || n != 1 || done[0].CID != 8 || done[0].Status != wire.Success {
		t.Fatalf("%d %+v %v", n, done[0], err)
	}

	soon, cancel := context.WithCancel(context.Background())
	cancel()
	if err := r.target.Drain(soon); !errors.Is(err, context.Canceled) {
		t.Errorf("drained with a read under way: %v", err)
	}
	late := blocks(wire.OpRead, 3, 0, 1)
	if err := q.Submit(9, &late, fabric.Buffer{Bytes: make([]byte, 4096)}); err != nil {
		t.Fatal(err)
	}
	r.want(wire.Success, admin, wire.Command{Opcode: wire.OpKeepAlive}, nil)
	r.want(wire.ConnectControllerBusy, r.dial(0), connectCommand(0, 0), connectData(subNQN, hostNQN, 0xffff))
	b.leave <- struct{}{}
	if err := r.target.Drain(t.Context()); err != nil {
		t.Error(err)
	}
	if n, err := q.Wait(done); err != nil || n != 1 || done[0].CID != 7 || done[0].Status != wire.Success {
		t.Errorf("the read under way: %d %+v %v", n, done[0], err)
	}
}

// A write that was begun but not yet performed when its controller ended is
// never performed: the host may be writing the same blocks over another path.
func TestWritesEndWithTheirController(t *testing.T) {
	tgt, err := New(config(t))
	if err != nil {
		t.Fatal(err)
	}
	p := &paper{pushed: map[*fabric.Exchange]int{}, done: map[*fabric.Exchange][]wire.Status{}}
	send := func(h fabric.Handler, c wire.Command, data []byte) {
		c.Flags, c.SGL.Length = wire.FlagsSGL, uint32(len(data))
		raw, _ := c.AppendBinary(nil)
		p.run(t, h, raw, data)
	}
	admin, io := tgt.Accept(p).(*queue), tgt.Accept(p).(*queue)
	send(admin, connectCommand(0, 0), connectData(subNQN, hostNQN, wire.DynamicController))
	send(admin, setCC(wire.CCEnable|wire.CCIOSQES|wire.CCIOCQES), nil)
	send(io, connectCommand(1, 0), connectData(subNQN, hostNQN, admin.ctrl.id))

	x := fabric.NewExchange(p, 0)
	x.Command = blocks(wire.OpWrite, 1, 0, 1)
	x.Command.Flags, x.Command.SGL.Length = wire.FlagsSGL, 512
	if pull, st := io.Begin(&x); pull != 512 || st != wire.Success {
		t.Fatal(pull, st)
	}
	admin.Disconnected(nil)
	x.Data = bytes.Repeat([]byte{1}, 512)
	io.Execute(&x)
	if st := p.done[&x]; len(st) != 1 || st[0] != wire.AbortedSQDeletion {
		t.Errorf("completed with %v", st)
	}
	got := make([]byte, 512)
	if err := tgt.subsystems[subNQN].now.Load().namespaces[1].Backend.ReadBlocks(got, 0); err != nil || got[0] != 0 {
		t.Errorf("the block begins with %d, %v", got[0], err)
	}
	if err := tgt.Close(); err != nil {
		t.Error(err)
	}
}
