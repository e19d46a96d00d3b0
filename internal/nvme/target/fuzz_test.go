package target

import (
	"sync"
	"testing"

	"weft/internal/nvme/backend"
	"weft/internal/nvme/fabric"
	"weft/internal/nvme/wire"
)

// paper is a connection on paper: it counts what a handler does.
type paper struct {
	mu     sync.Mutex
	pushed map[*fabric.Exchange]int
	done   map[*fabric.Exchange][]wire.Status
}

func (*paper) Transport() string { return "paper" }
func (*paper) Local() string     { return "127.0.0.1:4420" }
func (*paper) Remote() string    { return "127.0.0.1:1" }
func (*paper) Close()            {}

func (*paper) Alloc(_ *fabric.Exchange, n int) fabric.Buffer {
	return fabric.Buffer{Bytes: make([]byte, n)}
}

func (p *paper) Push(x *fabric.Exchange, b fabric.Buffer) {
	p.mu.Lock()
	p.pushed[x] += len(b.Bytes)
	p.mu.Unlock()
	b.Release()
}

func (*paper) Settle(*fabric.Exchange) {} // nothing stays borrowed

func (p *paper) Drop(x *fabric.Exchange) { p.Complete(x, 0, wire.AbortRequested) }

func (p *paper) Complete(x *fabric.Exchange, _ uint64, st wire.Status) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done[x] = append(p.done[x], st)
}

// run sends one command through a handler as a transport would.
func (p *paper) run(t *testing.T, h fabric.Handler, raw []byte, data []byte) {
	x := new(fabric.Exchange)
	*x = fabric.NewExchange(p, 0)
	if err := x.Command.UnmarshalBinary(raw); err != nil {
		t.Fatal(err)
	}
	pull, st := h.Begin(x)
	if st != wire.Success {
		fabric.Lose(h, x, st)
		return
	}
	if pull < 0 || pull > x.Length() || pull > 2*MaxTransfer {
		t.Fatalf("%+v pulls %d of %d", x.Command, pull, x.Length())
	}
	x.Data = make([]byte, pull)
	copy(x.Data, data)
	h.Execute(x)
}

// FuzzCommands sends one command after another to an admin and to an I/O
// queue. Each must be completed once, except held event requests, and a read
// with success must bring what the host has asked for.
func FuzzCommands(f *testing.F) {
	seed := func(cmds ...wire.Command) {
		var b []byte
		for _, c := range cmds {
			c.Flags |= wire.FlagsSGL
			b, _ = c.AppendBinary(b)
		}
		f.Add(b)
	}
	with := func(c wire.Command, n uint32) wire.Command { c.SGL.Length = n; return c }
	seed(with(wire.IdentifyCommand{CNS: 1}.Command(), 4096), with(wire.IdentifyCommand{CNS: 3, NSID: 1}.Command(), 4096))
	seed(with(blocks(wire.OpWrite, 1, 3, 2), 1024), with(blocks(wire.OpRead, 3, 0, 1), 4096), wire.Command{Opcode: wire.OpFlush, NSID: 1})
	seed(with(blocks(wire.OpCompare, 1, 3, 1), 512), blocks(wire.OpWriteZeroes, 1, 0, 16), with(wire.DSMCommand{NSID: 1, Ranges: 2, Deallocate: true}.Command(), 32))
	seed(with(wire.GetLogPageCommand{LID: wire.LogANA, Length: 1024}.Command(), 1024), with(wire.GetLogPageCommand{LID: wire.LogSmart, Length: 512, NSID: 1}.Command(), 512))
	seed(with(wire.GetLogPageCommand{LID: wire.LogDiscovery, Length: 1024}.Command(), 1024))
	seed(setCC(0), wire.PropertyCommand{Wide: true}.Command(), with(connectCommand(1, 0), 1024))
	seed(wire.FeatureCommand{Set: true, FID: wire.FeatureQueues}.Command(), wire.Command{Opcode: wire.OpAsyncEvent})
	seed(with(wire.AuthCommand{SPSP: wire.AuthSpecific, Protocol: wire.AuthProtocol, Length: 72}.Command(), 72), with(wire.AuthCommand{Receive: true, SPSP: wire.AuthSpecific, Protocol: wire.AuthProtocol, Length: 4096}.Command(), 4096))
	seed(with(blocks(wire.OpRead, 1, 0, 8), 4096), with(blocks(wire.OpWrite, 1, 0, 8), 4096), with(blocks(wire.OpRead, 3, 0, 1), 512), with(blocks(wire.OpWrite, 2, 0, 1), 512))
	half := func(fuse, op uint8, nsid uint32) wire.Command { return with(fused(fuse, op, nsid, 3, 1), 512) }
	compare, write := half(wire.FuseFirst, wire.OpCompare, 1), half(wire.FuseSecond, wire.OpWrite, 1)
	seed(compare, write, compare, compare, write, write)
	seed(compare, wire.Command{Opcode: wire.OpFlush, NSID: 1}, write, half(wire.FuseSecond, wire.OpWrite, 3), compare)
	seed(half(wire.FuseFirst, wire.OpCompare, 2), half(wire.FuseSecond, wire.OpWrite, 2), half(wire.FuseFirst|wire.FuseSecond, wire.OpWrite, 1), half(wire.FuseFirst, wire.OpCompare, 3), half(wire.FuseSecond, wire.OpWrite, 3))
	seed(compare, wire.Command{Opcode: wire.OpAbort, CDW10: 1}, half(wire.FuseFirst, wire.OpWrite, 1), half(wire.FuseSecond, wire.OpCompare, 1), compare)
	f.Fuzz(fuzzCommands)
}

// fuzzTarget has namespaces of several kinds, and a subsystem whose host must
// authenticate.
func fuzzTarget(t *testing.T) *Target {
	t.Helper()
	m, err := backend.NewMemory(1<<20, 512)
	if err != nil {
		t.Fatal(err)
	}
	limited, err := backend.NewMemory(1<<20, 512)
	if err != nil {
		t.Fatal(err)
	}
	none, err := backend.NewNull(1<<30, 512)
	if err != nil {
		t.Fatal(err)
	}
	tgt, err := New(Config{
		Subsystems: []Subsystem{
			{NQN: subNQN, Serial: "S", AllowHosts: []string{hostNQN}, Namespaces: []Namespace{
				{ID: 1, Backend: m}, {ID: 2, Backend: none, ReadOnly: true, Group: 2}, {ID: 3, Backend: limited, Limits: Limits{IOPS: 1 << 30}}}},
			{NQN: otherNQN, Serial: "O", AllowHosts: []string{hostNQN}, Keys: map[string]Keys{hostNQN: keys(t)}},
		},
		Portals: []Portal{{Transport: "tcp", Address: "10.40.1.11:4420"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return tgt
}

func fuzzCommands(t *testing.T, b []byte) {
	b = b[:min(len(b), 16*wire.CommandSize)]
	tgt := fuzzTarget(t)
	p := &paper{pushed: map[*fabric.Exchange]int{}, done: map[*fabric.Exchange][]wire.Status{}}
	command := func(c wire.Command) []byte { raw, _ := c.AppendBinary(nil); return raw }
	connect := func(qid uint16) []byte {
		c := connectCommand(qid, 0)
		c.SGL.Length = wire.ConnectDataSize
		return command(c)
	}
	for _, sub := range []string{subNQN, wire.DiscoveryNQN, otherNQN} {
		admin, io, fresh := tgt.Accept(p), tgt.Accept(p), tgt.Accept(p)
		p.run(t, admin, connect(0), connectData(sub, hostNQN, 0xffff))
		id := admin.(*queue).ctrl.id
		p.run(t, admin, command(setCC(wire.CCEnable|wire.CCIOSQES|wire.CCIOCQES)), nil)
		p.run(t, io, connect(1), connectData(sub, hostNQN, id))
		for rest := b; len(rest) >= wire.CommandSize; rest = rest[wire.CommandSize:] {
			for _, h := range []fabric.Handler{admin, io, fresh} {
				p.run(t, h, rest, rest)
			}
		}
		if sub == otherNQN && admin.(*queue).ctrl.ready.Load() {
			t.Error("a controller is ready whose host has not authenticated")
		}
		for _, h := range []fabric.Handler{admin, io, fresh} {
			h.Disconnected(nil)
		}
	}
	if err := tgt.Close(); err != nil {
		t.Fatal(err)
	}
	for x, st := range p.done {
		if len(st) != 1 {
			t.Errorf("%+v was completed %d times", x.Command, len(st))
		}
		if st[0] == wire.Success && x.Command.Direction() == wire.ToHost && x.Command.Opcode != wire.OpFabrics && p.pushed[x] != x.Length() {
			t.Errorf("%+v brought %d bytes, want %d", x.Command, p.pushed[x], x.Length())
		}
	}
}

// A command that comes while its controller ends is not refused for good: the
// host sends it again to the next controller.
func TestCommandsAtTheEnd(t *testing.T) {
	tgt := fuzzTarget(t)
	p := &paper{pushed: map[*fabric.Exchange]int{}, done: map[*fabric.Exchange][]wire.Status{}}
	run := func(h fabric.Handler, c wire.Command, length uint32, data []byte) {
		t.Helper()
		c.SGL.Length = length
		raw, _ := c.AppendBinary(nil)
		p.run(t, h, raw, data)
	}
	admin, io := tgt.Accept(p), tgt.Accept(p)
	run(admin, connectCommand(0, 0), wire.ConnectDataSize, connectData(subNQN, hostNQN, 0xffff))
	run(admin, setCC(wire.CCEnable|wire.CCIOSQES|wire.CCIOCQES), 0, nil)
	run(io, connectCommand(1, 0), wire.ConnectDataSize, connectData(subNQN, hostNQN, admin.(*queue).ctrl.id))
	read := func() wire.Status {
		x := new(fabric.Exchange)
		*x = fabric.NewExchange(p, 0)
		x.Command = blocks(wire.OpRead, 1, 0, 1)
		x.Command.Flags, x.Command.SGL.Length = wire.FlagsSGL, 512
		_, st := io.Begin(x)
		return st
	}
	if st := read(); st != wire.Success {
		t.Fatal(st)
	}
	admin.Disconnected(nil)
	if st := read(); st != wire.AbortedSQDeletion {
		t.Errorf("after the end of the admin queue: %v", st)
	}
	io.Disconnected(nil)
	if err := tgt.Close(); err != nil {
		t.Fatal(err)
	}
}
