package initiator_test

import (
	"context"
	"encoding"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"weft/internal/nvme/fabric"
	"weft/internal/nvme/initiator"
	"weft/internal/nvme/nvmetest"
	"weft/internal/nvme/tcp"
	"weft/internal/nvme/wire"
	"weft/internal/require"
)

func TestMain(m *testing.M) {
	require.Patience(8)
	goleak.VerifyTestMain(m)
}

const (
	patience = time.Minute
	hostNQN  = "nqn.2014-08.org.nvmexpress:uuid:00010203-0405-0607-0809-0a0b0c0d0e0f"
	subNQN   = "nqn.2026-11.org.example:pool"
)

// fake is a subsystem with one controller; a test bends what it answers.
type fake struct {
	disk *nvmetest.Disk

	cap     wire.CAP
	id      wire.IdentifyController
	granted wire.QueueCounts
	spaces  map[uint32]wire.IdentifyNamespace
	ids     wire.NSList
	uuid    [16]byte
	entries []wire.DiscoveryEntry
	claims  uint64                // records of the discovery log; 0: those there are
	moves   int                   // how often the discovery log changes while it is read
	refuse  map[uint8]wire.Status // by admin opcode
	connect func(wire.ConnectCommand, wire.ConnectData) (uint64, wire.Status)
	deaf    bool // keep-alives are not answered
	unready bool

	mu       sync.Mutex
	hosts    []wire.ConnectData
	connects []wire.ConnectCommand
	alive    chan struct{} // one for every keep-alive
	cc       uint64
	genctr   uint64
}

func newFake() *fake {
	format := [16]wire.LBAFormat{{LBADS: 9}}
	return &fake{
		disk: &nvmetest.Disk{Data: make([]byte, 1<<20)},
		cap:  wire.CAP{MQES: 63, CQR: true, TO: 1, CSS: 1},
		id: wire.IdentifyController{
			CNTLID: 7, CntrlType: wire.ControllerIO, SQES: 0x66, CQES: 0x44, SGLS: 1, MDTS: 5, MAXCMD: 64, IOCCSZ: (64 + 8192) / 16, IORCSZ: 1, KAS: 10,
		},
		granted: wire.QueueCounts{Submission: 4, Completion: 4},
		spaces:  map[uint32]wire.IdentifyNamespace{1: {NSZE: 2048, NCAP: 2048, LBAF: format}},
		ids:     wire.NSList{1},
		uuid:    [16]byte{15: 9},
		alive:   make(chan struct{}, 100),
	}
}

func (f *fake) accept(c fabric.Conn) fabric.Handler {
	return &fakeQueue{f: f, conn: c, io: f.disk.Accept(c)}
}

// fakeQueue is one queue pair.
type fakeQueue struct {
	f    *fake
	conn fabric.Conn
	io   fabric.Handler
	qid  uint16
}

func (q *fakeQueue) Begin(x *fabric.Exchange) (int, wire.Status) {
	if x.Command.Opcode == wire.OpFabrics {
		if x.Command.FabricsType() == wire.FabricsConnect {
			return wire.ConnectDataSize, wire.Success
		}
		return 0, wire.Success
	}
	if q.qid != 0 {
		return q.io.Begin(x)
	}
	return 0, q.f.refuse[x.Command.Opcode]
}

func (q *fakeQueue) Disconnected(err error) { q.io.Disconnected(err) }

func (q *fakeQueue) Execute(x *fabric.Exchange) {
	q.f.mu.Lock()
	defer q.f.mu.Unlock()
	switch {
	case x.Command.Opcode == wire.OpFabrics:
		q.fabrics(x)
	case q.qid != 0:
		q.io.Execute(x)
	default:
		q.admin(x)
	}
}

func (q *fakeQueue) fabrics(x *fabric.Exchange) {
	f := q.f
	if x.Command.FabricsType() == wire.FabricsConnect {
		var data wire.ConnectData
		_ = data.UnmarshalBinary(x.Data)
		cmd := x.Command.Connect()
		f.hosts, f.connects = append(f.hosts, data), append(f.connects, cmd)
		q.qid = cmd.QID
		result, st := uint64(f.id.CNTLID), wire.Success
		if f.connect != nil {
			result, st = f.connect(cmd, data)
		}
		x.Complete(result, st)
		return
	}
	p := x.Command.Property()
	switch {
	case p.Set:
		f.cc = p.Value
		x.Complete(0, wire.Success)
	case p.Offset == wire.PropCAP:
		x.Complete(f.cap.Value(), wire.Success)
	case p.Offset == wire.PropCSTS && f.cc&wire.CCShutdownAny != 0:
		x.Complete(wire.CSTSReady|wire.CSTSShutdownComplete, wire.Success)
	case p.Offset == wire.PropCSTS && !f.unready:
		x.Complete(f.cc&wire.CCEnable, wire.Success)
	default:
		x.Complete(0, wire.Success)
	}
}

func (q *fakeQueue) admin(x *fabric.Exchange) {
	f := q.f
	switch x.Command.Opcode {
	case wire.OpIdentify:
		q.identify(x, x.Command.Identify())
	case wire.OpSetFeatures:
		x.Complete(uint64(f.granted.Value()), wire.Success)
	case wire.OpGetLogPage:
		q.log(x, x.Command.GetLogPage())
	case wire.OpKeepAlive:
		if f.deaf {
			return
		}
		f.alive <- struct{}{}
		x.Complete(0, wire.Success)
	default:
		x.Complete(0, wire.InvalidOpcode.WithDNR())
	}
}

func (q *fakeQueue) identify(x *fabric.Exchange, v wire.IdentifyCommand) {
	var what encoding.BinaryAppender
	switch v.CNS {
	case wire.CNSController:
		what = &q.f.id
	case wire.CNSNamespace:
		ns := q.f.spaces[v.NSID]
		what = &ns
	case wire.CNSActiveNS:
		var page wire.NSList
		for _, id := range q.f.ids {
			if id > v.NSID && len(page) < wire.MaxNSList {
				page = append(page, id)
			}
		}
		what = page
	case wire.CNSNSDescriptors:
		if q.f.uuid == [16]byte{} {
			x.Complete(0, wire.InvalidField.WithDNR())
			return
		}
		what = &wire.NSDescriptors{UUID: q.f.uuid}
	}
	raw, _ := what.AppendBinary(nil)
	x.Push(fabric.Buffer{Bytes: raw})
	x.Complete(0, wire.Success)
}

func (q *fakeQueue) log(x *fabric.Exchange, v wire.GetLogPageCommand) {
	f := q.f
	if v.Offset == 0 && f.moves > 0 {
		f.moves--
		f.genctr++
		f.entries = append(f.entries, wire.DiscoveryEntry{SubNQN: subNQN, TrType: wire.TransportTCP})
	}
	head := wire.DiscoveryHeader{GenCtr: f.genctr, NumRec: uint64(len(f.entries))}
	if f.claims != 0 {
		head.NumRec = f.claims
	}
	raw, _ := head.AppendBinary(nil)
	for i := range f.entries {
		raw, _ = f.entries[i].AppendBinary(raw)
	}
	raw = append(raw, make([]byte, int(v.Offset)+int(v.Length))...)
	x.Push(fabric.Buffer{Bytes: raw[v.Offset:][:v.Length]})
	x.Complete(0, wire.Success)
}

// serve offers a fake on a transport.
func serve(t *testing.T, tr fabric.Transport, f *fake) string {
	t.Helper()
	l, err := tr.Listen(context.Background(), fabric.ListenParams{Addr: "127.0.0.1:0"}, f.accept)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l.Addr()
}

// both runs a test in memory and over TCP.
func both(t *testing.T, test func(t *testing.T, tr fabric.Transport)) {
	t.Run("memory", func(t *testing.T) { test(t, new(nvmetest.Memory)) })
	t.Run("tcp", func(t *testing.T) { test(t, new(tcp.Transport)) })
}

func options(addr string) initiator.Options {
	return initiator.Options{Addr: addr, SubNQN: subNQN, HostNQN: hostNQN, KATO: -1, Timeout: patience}
}
