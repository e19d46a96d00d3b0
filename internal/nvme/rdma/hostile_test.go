package rdma_test

import (
	"context"
	"errors"
	"net/netip"
	"testing"
	"time"

	"weft/internal/nvme/fabric"
	"weft/internal/nvme/nvmetest"
	"weft/internal/nvme/rdma"
	"weft/internal/nvme/rdma/verbs"
	"weft/internal/nvme/rdma/verbs/verbstest"
	"weft/internal/nvme/wire"
)

const patience = time.Minute

// rawHost is a host that sends what it likes.
type rawHost struct {
	t    testing.TB
	f    *verbstest.Fabric
	link verbs.Link
	hub  verbs.Hub
	pair verbs.Pair
	mem  []byte
	mr   *verbs.Memory
}

// goodRequest is what a host of 8 commands says of itself.
func goodRequest() []byte {
	req := wire.RDMARequest{QID: 1, HRQSize: 9, HSQSize: 8}
	b, _ := req.AppendBinary(nil)
	return b
}

// offer connects with any private data.
func offer(t testing.TB, f *verbstest.Fabric, addr string, private []byte, reads int) (*rawHost, error) {
	t.Helper()
	k, err := f.Resolve(t.Context(), verbs.Route{To: netip.MustParseAddrPort(addr)})
	if err != nil {
		t.Fatal(err)
	}
	h := &rawHost{t: t, f: f, link: k, mem: make([]byte, 64<<10)}
	if h.hub, err = f.Hub(128); err != nil {
		t.Fatal(err)
	}
	if h.pair, err = k.Open(h.hub, verbs.Queue{Sends: 64, Receives: 64}); err != nil {
		t.Fatal(err)
	}
	if h.mr, err = f.Register(h.mem, verbs.LocalWrite|verbs.RemoteRead|verbs.RemoteWrite); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(h.close)
	for i := range 32 {
		if err := h.pair.Receive([]verbs.Work{{ID: uint64(i), Local: verbs.Piece{Addr: h.mr.Addr + uint64(i*16), Len: 16, Key: h.mr.Local}}}); err != nil {
			t.Fatal(err)
		}
	}
	_, err = k.Connect(t.Context(), verbs.Hello{Private: private, Reads: reads})
	return h, err
}

func (h *rawHost) close() {
	if err := errors.Join(h.link.Close(), h.hub.Close(), h.mr.Close()); err != nil {
		h.t.Error(err)
	}
}

// Where the host keeps what it sends, and data.
const (
	atCapsule = 1024
	atData    = 32 << 10
)

// send sends bytes.
func (h *rawHost) send(b []byte) {
	h.t.Helper()
	copy(h.mem[atCapsule:], b)
	err := h.pair.Send([]verbs.Work{{ID: 1 << 40, Op: verbs.OpSend, Flags: verbs.Signaled, Local: verbs.Piece{Addr: h.mr.Addr + atCapsule, Len: uint32(len(b)), Key: h.mr.Local}}})
	if err != nil {
		h.t.Fatal(err)
	}
}

func (h *rawHost) command(c *wire.Command, inside ...byte) {
	h.t.Helper()
	c.Flags |= wire.FlagsSGL
	b, _ := c.AppendBinary(nil)
	h.send(append(b, inside...))
}

// answer waits for a response; nil: the target has ended the connection.
func (h *rawHost) answer() *wire.Completion {
	h.t.Helper()
	var done [1]verbs.Done
	for deadline := time.Now().Add(patience); ; {
		if err := h.hub.Arm(); err != nil {
			h.t.Fatal(err)
		}
		n, err := h.hub.Poll(done[:])
		if err != nil {
			h.t.Fatal(err)
		}
		switch d := done[0]; {
		case n == 0:
			if h.pair.Ended() != nil {
				return nil
			}
			if err := h.hub.Wait(deadline); err != nil && !errors.Is(err, verbs.ErrNews) {
				h.t.Fatal(err)
			}
		case d.Status != verbs.OK:
			return nil
		case d.ID < 1<<32:
			var c wire.Completion
			if err := c.UnmarshalBinary(h.mem[d.ID*16:]); err != nil || d.Bytes != 16 {
				h.t.Fatalf("response of %d bytes, %v", d.Bytes, err)
			}
			return &c
		}
	}
}

// served is a portal with a Disk behind it.
func served(t testing.TB, f *verbstest.Fabric, p fabric.ListenParams) (string, *nvmetest.Disk) {
	t.Helper()
	return servedAs(t, f, p, func(h fabric.Handler) fabric.Handler { return h })
}

// servedAs is served with handlers that do more than those of the disk.
func servedAs(t testing.TB, f *verbstest.Fabric, p fabric.ListenParams, as func(fabric.Handler) fabric.Handler) (string, *nvmetest.Disk) {
	t.Helper()
	disk := &nvmetest.Disk{Data: make([]byte, 1<<20)}
	p.Addr = "10.0.0.1:0"
	l, err := (&rdma.Transport{Verbs: f}).Listen(context.Background(), p, func(c fabric.Conn) fabric.Handler { return as(disk.Accept(c)) })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
		if open, _ := disk.Open(); open != 0 {
			t.Errorf("%d queue pairs are open", open)
		}
	})
	return l.Addr(), disk
}

// TestOffers: what a host says of itself is judged before it gets anything.
func TestOffers(t *testing.T) {
	f := new(verbstest.Fabric)
	memory(t, f)
	addr, disk := served(t, f, fabric.ListenParams{})
	set := func(r wire.RDMARequest) []byte {
		b, _ := r.AppendBinary(nil)
		return b
	}
	for what, c := range map[string]struct {
		private []byte
		reads   int
		want    wire.RDMAStatus
	}{
		"format":          {set(wire.RDMARequest{Format: 1, HRQSize: 9, HSQSize: 8}), 4, wire.RDMAInvalidFormat},
		"no entries":      {set(wire.RDMARequest{HRQSize: 9}), 4, wire.RDMAInvalidHSQSize},
		"many entries":    {set(wire.RDMARequest{HRQSize: 9, HSQSize: 65535}), 4, wire.RDMAInvalidHSQSize},
		"one more entry":  {set(wire.RDMARequest{HRQSize: 9, HSQSize: fabric.DefaultMaxDepth + 1}), 4, wire.RDMAInvalidHSQSize},
		"no room":         {set(wire.RDMARequest{HSQSize: 8}), 4, wire.RDMAInvalidHRQSize},
		"nothing to read": {goodRequest(), 0, wire.RDMAInvalidIRD},
		"empty":           {nil, 4, wire.RDMAInvalidHSQSize}, // padded with zeros on the way
	} {
		_, err := offer(t, f, addr, c.private, c.reads)
		var refused *verbs.RefusedError
		var rej wire.RDMAReject
		if !errors.As(err, &refused) || rej.UnmarshalBinary(refused.Private) != nil || rej.Status != c.want {
			t.Errorf("%s: %v, %v; want %v", what, err, rej.Status, c.want)
		}
	}
	if _, err := offer(t, f, addr, set(wire.RDMARequest{HRQSize: 9, HSQSize: fabric.DefaultMaxDepth}), 4); err != nil {
		t.Errorf("the largest queue: %v", err)
	}
	if _, ended := disk.Open(); len(ended) != 0 {
		t.Errorf("the handler was told %v", ended)
	}
}

// TestBadCommands: commands that describe their data wrongly are refused, and
// the connection goes on.
func TestBadCommands(t *testing.T) {
	f := new(verbstest.Fabric)
	memory(t, f)
	addr, _ := served(t, f, fabric.ListenParams{MaxTransfer: 8192})
	h, err := offer(t, f, addr, goodRequest(), 4)
	if err != nil {
		t.Fatal(err)
	}
	keyed := func(n uint32) wire.SGL {
		return wire.SGL{Type: wire.SGLKeyed, Address: h.mr.Addr + atData, Length: n, Key: h.mr.Remote}
	}
	block := make([]byte, nvmetest.BlockSize)
	for _, c := range []struct {
		name   string
		cmd    wire.Command
		inside []byte
		want   wire.Status
	}{
		{"transport SGL", wire.Command{Opcode: wire.OpWrite, SGL: wire.SGL{Type: wire.SGLTransport, Length: 512}}, nil, wire.SGLInvalidType},
		{"last segment", wire.Command{Opcode: wire.OpRead, SGL: wire.SGL{Type: 0x31, Length: 512}}, nil, wire.SGLInvalidType},
		{"read into the capsule", wire.Command{Opcode: wire.OpRead, SGL: wire.SGL{Type: wire.SGLInCapsule, Length: 512}}, block, wire.SGLInvalidType},
		{"longer than the capsule", wire.Command{Opcode: wire.OpWrite, SGL: wire.SGL{Type: wire.SGLInCapsule, Length: 512}}, block[:511], wire.SGLInvalidLength},
		{"behind the capsule", wire.Command{Opcode: wire.OpWrite, SGL: wire.SGL{Type: wire.SGLInCapsule, Address: 513, Length: 512}}, block, wire.SGLInvalidOffset},
		{"far behind it", wire.Command{Opcode: wire.OpWrite, SGL: wire.SGL{Type: wire.SGLInCapsule, Address: ^uint64(0) - 100, Length: 512}}, block, wire.SGLInvalidOffset},
		{"within it", wire.Command{Opcode: wire.OpWrite, SGL: wire.SGL{Type: wire.SGLInCapsule, Address: 64, Length: 512}}, make([]byte, 576), wire.Success},
		{"not what it should be", wire.Command{Opcode: wire.OpWrite, SGL: keyed(1024)}, nil, wire.SGLInvalidLength},
		{"more than is taken", wire.Command{Opcode: wire.OpWrite, CDW12: 31, SGL: keyed(16384)}, nil, wire.InvalidField},
		{"PRPs", wire.Command{Opcode: wire.OpFlush, Flags: 0x80}, nil, wire.InvalidField},
		{"no data where there should be", wire.Command{Opcode: wire.OpWrite}, nil, wire.SGLInvalidLength},
		{"data where none is needed", wire.Command{Opcode: wire.OpFlush, SGL: keyed(512)}, nil, wire.Success},
		{"read", wire.Command{Opcode: wire.OpRead, SGL: keyed(512)}, nil, wire.Success},
		{"write", wire.Command{Opcode: wire.OpWrite, SGL: keyed(512)}, nil, wire.Success},
	} {
		c.cmd.CID = 0x7777
		h.command(&c.cmd, c.inside...)
		got := h.answer()
		if got == nil {
			t.Fatalf("%s: the connection has ended", c.name)
		}
		if got.Status.Code() != c.want || got.CID != 0x7777 {
			t.Errorf("%s: %v of command 0x%x, want %v", c.name, got.Status, got.CID, c.want)
		}
	}
}

// TestBreaches: what no host does ends its connection, and no other.
func TestBreaches(t *testing.T) {
	for name, act := range map[string]func(*rawHost){
		"a short command": func(h *rawHost) { h.send(make([]byte, wire.CommandSize-1)) },
		"nothing":         func(h *rawHost) { h.send(nil) },
		"too much":        func(h *rawHost) { h.send(make([]byte, 30<<10)) },
		"a bad key to write to": func(h *rawHost) {
			h.command(&wire.Command{Opcode: wire.OpRead, SGL: wire.SGL{Type: wire.SGLKeyed, Address: h.mr.Addr, Length: 512, Key: h.mr.Remote + 1}})
		},
		"a bad key to read from": func(h *rawHost) {
			h.command(&wire.Command{Opcode: wire.OpWrite, SGL: wire.SGL{Type: wire.SGLKeyed, Address: h.mr.Addr, Length: 512, Key: h.mr.Remote + 1}})
		},
		"more memory than there is": func(h *rawHost) {
			h.command(&wire.Command{Opcode: wire.OpRead, SGL: wire.SGL{Type: wire.SGLKeyed, Address: h.mr.Addr + 65535, Length: 512, Key: h.mr.Remote}})
		},
		"a bad key to take back": func(h *rawHost) {
			h.command(&wire.Command{Opcode: wire.OpFlush, SGL: wire.SGL{Type: wire.SGLKeyedInvalidate, Key: 0xdead}})
		},
		"leaving": func(h *rawHost) { h.close() },
	} {
		t.Run(name, func(t *testing.T) {
			f := new(verbstest.Fabric)
			memory(t, f)
			addr, disk := served(t, f, fabric.ListenParams{})
			other, err := offer(t, f, addr, goodRequest(), 4)
			if err != nil {
				t.Fatal(err)
			}
			h, err := offer(t, f, addr, goodRequest(), 4)
			if err != nil {
				t.Fatal(err)
			}
			mr := h.mr
			if name == "leaving" {
				h.mr = verbs.NewMemory(mr.Addr, mr.Local, mr.Remote, func() error { return nil })
				t.Cleanup(func() {
					if err := mr.Close(); err != nil {
						t.Error(err)
					}
				})
			}
			act(h)
			for deadline := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
				if _, ended := disk.Open(); len(ended) == 1 {
					if ended[0] == nil {
						t.Error("the connection has ended for no reason")
					}
					break
				}
				if time.Now().After(deadline) {
					t.Fatal("the connection goes on")
				}
			}
			other.command(&wire.Command{Opcode: wire.OpFlush})
			if c := other.answer(); c == nil || c.Status != wire.Success {
				t.Errorf("the other host: %+v", c)
			}
		})
	}
}

// TestInvalidate: a host that asks for it gets its key back.
func TestInvalidate(t *testing.T) {
	f := new(verbstest.Fabric)
	memory(t, f)
	addr, _ := served(t, f, fabric.ListenParams{})
	h, err := offer(t, f, addr, goodRequest(), 4)
	if err != nil {
		t.Fatal(err)
	}
	h.command(&wire.Command{Opcode: wire.OpRead, SGL: wire.SGL{Type: wire.SGLKeyedInvalidate, Address: h.mr.Addr + atData, Length: 512, Key: h.mr.Remote}})
	var done [4]verbs.Done
	for deadline := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		n, err := h.hub.Poll(done[:])
		if err != nil || time.Now().After(deadline) {
			t.Fatal("no response", err)
		}
		for _, d := range done[:n] {
			if d.ID < 1<<32 {
				if d.Err() != nil || d.Invalidated != h.mr.Remote {
					t.Errorf("%+v, want key 0x%x taken back", d, h.mr.Remote)
				}
				return
			}
		}
	}
}

// FuzzCapsule: whatever a host sends, the target answers or ends the
// connection, and nothing is left behind.
func FuzzCapsule(f *testing.F) {
	c := wire.Command{Opcode: wire.OpWrite, Flags: wire.FlagsSGL, SGL: wire.SGL{Type: wire.SGLInCapsule, Length: 512}}
	b, _ := c.AppendBinary(nil)
	f.Add(append(b, make([]byte, 512)...))
	c.SGL = wire.SGL{Type: wire.SGLKeyedInvalidate, Length: 512, Key: 3, Address: 7}
	b, _ = c.AppendBinary(nil)
	f.Add(b)
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) > 8192 || len(b) >= 1 && (b[0] == nvmetest.OpNever || b[0] == nvmetest.OpDrop) { // nobody answers those
			return
		}
		v := new(verbstest.Fabric)
		addr, _ := served(t, v, fabric.ListenParams{})
		h, err := offer(t, v, addr, goodRequest(), 4)
		if err != nil {
			t.Fatal(err)
		}
		h.send(b)
		h.answer()
	})
}

// TestDrop: a command that is dropped is not answered, and its slot takes another.
func TestDrop(t *testing.T) {
	f := new(verbstest.Fabric)
	memory(t, f)
	addr, _ := served(t, f, fabric.ListenParams{})
	h, err := offer(t, f, addr, goodRequest(), 4)
	if err != nil {
		t.Fatal(err)
	}
	const more = 30 // than there are slots before a host has connected
	for i := range uint16(more) {
		h.command(&wire.Command{Opcode: nvmetest.OpDrop, CID: 1000 + i})
		h.command(&wire.Command{Opcode: nvmetest.OpEcho, CID: i, CDW10: 7})
		if c := h.answer(); c == nil || c.CID != i || c.Result != 7 {
			t.Fatalf("%d: %+v", i, c)
		}
	}
}
