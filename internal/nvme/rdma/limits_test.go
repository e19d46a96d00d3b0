package rdma_test

import (
	"errors"
	"syscall"
	"testing"
	"time"

	"weft/internal/nvme/fabric"
	"weft/internal/nvme/nvmetest"
	"weft/internal/nvme/rdma/verbs/verbstest"
	"weft/internal/nvme/wire"
)

// A sufferer is a handler that keeps what the machine was short of.
type sufferer struct {
	fabric.Handler
	short chan error
}

func (s sufferer) Short(err error) { s.short <- err }

// TestLittleMemory: where not all can be registered, commands fail that need
// it, the target is told why once, another time they may not, and nothing is left
// behind.
func TestLittleMemory(t *testing.T) {
	f := &verbstest.Fabric{MemLock: 3 << 20}
	tr := memory(t, f)
	short := make(chan error, 9)
	addr, _ := servedAs(t, f, fabric.ListenParams{}, func(h fabric.Handler) fabric.Handler { return sufferer{h, short} })
	dial := func(depth int) (fabric.Queue, error) {
		return tr.Dial(t.Context(), fabric.DialParams{Addr: addr, QID: 1, Depth: depth, InCapsule: 4096, Timeout: patience})
	}
	if q, err := dial(127); err == nil {
		_ = q.Close()
		// A queue of this depth needs half a MiB here and a MiB there.
	}
	q, err := dial(8)
	if err != nil {
		t.Fatal(err)
	}
	defer q.Close()
	f.MemLock = 1
	cmd := &wire.Command{Opcode: wire.OpRead, CDW12: 15}
	if _, err := fabric.Do(q, cmd, make([]byte, 8192)); err == nil {
		t.Error("a command without memory was sent")
	}
	f.MemLock = 0
	h, err := offer(t, f, addr, goodRequest(), 4)
	if err != nil {
		t.Fatal(err)
	}
	f.MemLock = 1
	for _, op := range []uint8{wire.OpRead, wire.OpWrite} {
		h.command(&wire.Command{Opcode: op, SGL: wire.SGL{Type: wire.SGLKeyed, Address: h.mr.Addr + atData, Length: 512, Key: h.mr.Remote}})
		if c := h.answer(); c == nil || c.Status.Code() != wire.InternalError || c.Status.DNR() {
			t.Errorf("opcode %d without memory: %+v", op, c)
		}
	}
	if len(short) != 1 {
		t.Errorf("said %d times that memory is short, want once", len(short))
	} else if err := <-short; !errors.Is(err, syscall.ENOMEM) {
		t.Errorf("said to be short of: %v", err)
	}
	f.MemLock = 0
	h.command(&wire.Command{Opcode: wire.OpRead, SGL: wire.SGL{Type: wire.SGLKeyed, Address: h.mr.Addr + atData, Length: 512, Key: h.mr.Remote}})
	if c := h.answer(); c == nil || c.Status != wire.Success {
		t.Errorf("with memory again: %+v", c)
	}
}

// TestFlood: a host that sends more commands than it has announced waits in the
// network, and all of them are answered.
func TestFlood(t *testing.T) {
	f := new(verbstest.Fabric)
	memory(t, f)
	addr, disk := served(t, f, fabric.ListenParams{})
	disk.Async = true
	h, err := offer(t, f, addr, goodRequest(), 4)
	if err != nil {
		t.Fatal(err)
	}
	const flood = 30 // and the host has announced 9, and has room for 32
	for i := range flood {
		h.command(&wire.Command{Opcode: wire.OpFlush, CID: uint16(i)})
	}
	seen := map[uint16]bool{}
	for range flood {
		c := h.answer()
		if c == nil {
			t.Fatal("the connection has ended")
		}
		seen[c.CID] = true
	}
	if len(seen) != flood {
		t.Errorf("%d commands were answered, want %d", len(seen), flood)
	}
	disk.Wait()
}

// TestStrangers: hosts that never connect push each other out, and nobody else.
func TestStrangers(t *testing.T) {
	const most, more = 128, 20 // of one source
	f := new(verbstest.Fabric)
	memory(t, f)
	addr, disk := served(t, f, fabric.ListenParams{})
	connect := wire.ConnectCommand{QID: 1, SQSize: 8}.Command()
	connect.SGL = wire.SGL{Type: wire.SGLInCapsule, Length: wire.ConnectDataSize}
	var first *rawHost
	for i := range most + more + 1 {
		h, err := offer(t, f, addr, goodRequest(), 4)
		if err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			first = h
			h.command(&connect, make([]byte, wire.ConnectDataSize)...)
			if c := h.answer(); c == nil || c.Status != wire.Success {
				t.Fatalf("connect: %+v", c)
			}
		}
	}
	for deadline := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		if open, ended := disk.Open(); open == most+1 && len(ended) == more {
			break
		} else if time.Now().After(deadline) {
			t.Fatalf("%d queue pairs are open, %d have ended", open, len(ended))
		}
	}
	first.command(&wire.Command{Opcode: wire.OpFlush})
	if c := first.answer(); c == nil || c.Status != wire.Success {
		t.Errorf("the host that has connected: %+v", c)
	}
}

// connects has a host connect with a queue of so many entries.
func (h *rawHost) connects(t *testing.T, size uint16) {
	t.Helper()
	connect := wire.ConnectCommand{QID: 1, SQSize: size}.Command()
	connect.SGL = wire.SGL{Type: wire.SGLInCapsule, Length: wire.ConnectDataSize}
	h.command(&connect, make([]byte, wire.ConnectDataSize)...)
	if c := h.answer(); c == nil || c.Status != wire.Success {
		t.Fatalf("connect: %+v", c)
	}
}

// TestStrangersKeepLittle: however large the queues are that strangers announce,
// little memory is kept in place for them until they connect.
func TestStrangersKeepLittle(t *testing.T) {
	const strangers, most = 20, 256 << 10 // bytes of both ends of each
	f := new(verbstest.Fabric)
	memory(t, f)
	addr, _ := served(t, f, fabric.ListenParams{MaxDepth: 1024})
	req := wire.RDMARequest{QID: 1, HRQSize: 1024, HSQSize: 1023}
	private, _ := req.AppendBinary(nil)
	var last *rawHost
	for range strangers {
		h, err := offer(t, f, addr, private, 4)
		if err != nil {
			t.Fatal(err)
		}
		last = h
	}
	before := f.Bytes()
	if before > strangers*most {
		t.Errorf("%d bytes are kept in place for %d strangers, want at most %d each", before, strangers, most)
	}
	last.connects(t, 1023)
	if grown := f.Bytes() - before; grown < 1000*8192 {
		t.Errorf("%d bytes more for a host that has connected with 1024 entries", grown)
	}
	last.command(&wire.Command{Opcode: wire.OpFlush})
	if c := last.answer(); c == nil || c.Status != wire.Success {
		t.Errorf("flush: %+v", c)
	}
}

// TestManyConnections: what 64 connections keep in place for hosts to send into,
// each with a queue of the size that Linux asks for.
func TestManyConnections(t *testing.T) {
	const connections, most = 64, 80_000_000
	f := new(verbstest.Fabric)
	tr := memory(t, f)
	addr, _ := served(t, f, fabric.ListenParams{})
	for range connections {
		q, err := tr.Dial(t.Context(), fabric.DialParams{Addr: addr, QID: 1, Depth: 127, Timeout: patience})
		if err != nil {
			t.Fatal(err)
		}
		defer q.Close()
		connect := wire.ConnectCommand{QID: 1, SQSize: 127}.Command()
		if c, err := fabric.Do(q, &connect, make([]byte, wire.ConnectDataSize)); err != nil || c.Status != wire.Success {
			t.Fatalf("%v, %v", c.Status, err)
		}
	}
	got := f.Bytes()
	t.Logf("%d connections: %.1f MB of both ends", connections, float64(got)/1e6)
	if got > most {
		t.Errorf("%d connections keep %d bytes in place, want at most %d", connections, got, most)
	}
}

// TestRemoved: a listener outlives its device. Nobody connects while there is
// none, and it says so; with another one they do.
func TestRemoved(t *testing.T) {
	t.Parallel()
	f := new(verbstest.Fabric)
	tr := memory(t, f)
	l, err := tr.Listen(t.Context(), fabric.ListenParams{Addr: "10.0.0.1:0"}, (&nvmetest.Disk{Data: make([]byte, 1<<20)}).Accept)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	is := l.(interface{ Gone() error })
	until := func(gone bool) {
		t.Helper()
		for end := time.Now().Add(patience); (is.Gone() != nil) != gone; time.Sleep(time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("gone: %v", is.Gone())
			}
		}
	}
	dial := func() error {
		q, err := tr.Dial(t.Context(), fabric.DialParams{Addr: l.Addr(), QID: 1, Depth: 8, InCapsule: 4096, Timeout: patience})
		if err == nil {
			err = q.Close()
		}
		return err
	}
	if err := dial(); err != nil {
		t.Fatal(err)
	}
	f.Remove(true)
	until(true)
	if err := dial(); err == nil {
		t.Error("connected without a device")
	}
	f.Remove(false)
	until(false)
	if err := dial(); err != nil {
		t.Error(err)
	}
	f.Remove(true)
	until(true)
	if err := l.Close(); err != nil {
		t.Error(err)
	}
}
