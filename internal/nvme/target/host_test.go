package target

import (
	"context"
	"errors"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"weft/internal/nvme/backend"
	"weft/internal/nvme/fabric"
	"weft/internal/nvme/nvmetest"
	"weft/internal/nvme/tcp"
	"weft/internal/nvme/wire"
)

const (
	subNQN   = "nqn.2026-11.net.example:data"
	otherNQN = "nqn.2026-11.net.example:other"
	hostNQN  = "nqn.2026-11.net.example:host"
	stranger = "nqn.2026-11.net.example:stranger"
	patience = time.Minute // for anything that does happen
)

// config is a target with one subsystem for hostNQN (memory in namespace 1,
// a file in 3) and another that nobody may use.
func config(t *testing.T) Config {
	t.Helper()
	m, err := backend.NewMemory(1<<20, 512)
	if err != nil {
		t.Fatal(err)
	}
	f, err := backend.OpenFile(filepath.Join(t.TempDir(), "volume"), 1<<20, 4096)
	if err != nil {
		t.Fatal(err)
	}
	return Config{
		Subsystems: []Subsystem{
			{NQN: subNQN, Serial: "WEFT01", AllowHosts: []string{hostNQN}, Namespaces: []Namespace{
				{ID: 1, UUID: [16]byte{1}, Backend: m}, {ID: 3, UUID: [16]byte{3}, Backend: f}}},
			{NQN: otherNQN, Serial: "WEFT02"},
		},
		Portals:    []Portal{{Transport: "tcp", Address: "10.40.1.11:4420"}, {Transport: "tcp", Address: "[fd00::11]:4420"}},
		Firmware:   "1.0",
		Generation: 7,
	}
}

// onePoller polls the connections of a listener.
func onePoller(t *testing.T) *tcp.Pollers {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("polling is for Linux")
	}
	if before := runtime.GOMAXPROCS(0); before < 2 {
		runtime.GOMAXPROCS(2)
		t.Cleanup(func() { runtime.GOMAXPROCS(before) })
	}
	p, err := tcp.NewPollers(tcp.PollerOptions{Threads: 1, Empty: 16})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p
}

// fabrics are the transports that the tests run on, with what ends them.
func fabrics(t *testing.T, run func(*testing.T, *rig)) {
	for _, name := range []string{"memory", "tcp"} {
		t.Run(name, func(t *testing.T) {
			var carrier fabric.Transport = &nvmetest.Memory{}
			if name == "tcp" {
				carrier = &tcp.Transport{}
			}
			run(t, newRig(t, carrier, config(t)))
		})
	}
}

// A rig is a target at work and the hosts' way to it.
type rig struct {
	*testing.T
	carrier fabric.Transport
	target  *Target
	portal  fabric.Listener
}

func newRig(t *testing.T, carrier fabric.Transport, c Config) *rig {
	t.Helper()
	tgt, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	l, err := carrier.Listen(t.Context(), fabric.ListenParams{
		Addr: "127.0.0.1:0", MaxDepth: MaxDepth, InCapsule: InCapsule, MaxTransfer: MaxTransfer,
	}, tgt.Accept)
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{t, carrier, tgt, l}
	t.Cleanup(r.stop)
	return r
}

// rigOn is a rig with a backend as its namespace 1.
func rigOn(t *testing.T, b backend.Backend) *rig {
	t.Helper()
	c := config(t)
	old := c.Subsystems[0].Namespaces[0].Backend
	if err := old.Close(); err != nil {
		t.Fatal(err)
	}
	c.Subsystems[0].Namespaces[0].Backend = b
	return newRig(t, &nvmetest.Memory{}, c)
}

func (r *rig) stop() {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := errors.Join(r.target.Drain(ctx), r.portal.Close(), r.target.Close()); err != nil {
		r.Error(err)
	}
}

// dial opens a connection without any command on it.
func (r *rig) dial(qid uint16) fabric.Queue {
	r.Helper()
	return r.dialWith(qid, InCapsule)
}

// dialWith is dial with so many bytes of data in capsules.
func (r *rig) dialWith(qid uint16, inside int) fabric.Queue {
	r.Helper()
	q, err := r.carrier.Dial(r.Context(), fabric.DialParams{Addr: r.portal.Addr(), QID: qid, Depth: 31, InCapsule: inside, Timeout: patience})
	if err != nil {
		r.Fatal(err)
	}
	r.Cleanup(func() { _ = q.Close() })
	return q
}

// do sends one command and waits for its completion.
func (r *rig) do(q fabric.Queue, cmd wire.Command, data []byte) wire.Completion {
	r.Helper()
	done, err := fabric.Do(q, &cmd, data)
	if err != nil {
		r.Fatalf("command %#x: %v", cmd.Opcode, err)
	}
	return done
}

// want sends one command and compares the status.
func (r *rig) want(st wire.Status, q fabric.Queue, cmd wire.Command, data []byte) uint64 {
	r.Helper()
	done := r.do(q, cmd, data)
	if done.Status != st {
		r.Errorf("command %#x nsid %d cdw10 %#x: %v, want %v", cmd.Opcode, cmd.NSID, cmd.CDW10, done.Status, st)
	}
	return done.Result
}

func connectData(sub, host string, id uint16) []byte {
	d := wire.ConnectData{HostID: [16]byte{42}, ControllerID: id, SubNQN: sub, HostNQN: host}
	b, _ := d.AppendBinary(nil)
	return b
}

func connectCommand(qid uint16, kato uint32) wire.Command {
	return wire.ConnectCommand{QID: qid, SQSize: 31, KATO: kato}.Command()
}

// admin connects an admin queue and enables the controller.
func (r *rig) admin(sub, host string, kato uint32) (q fabric.Queue, id uint16) {
	r.Helper()
	q = r.dial(0)
	id = uint16(r.want(wire.Success, q, connectCommand(0, kato), connectData(sub, host, wire.DynamicController)))
	r.want(wire.Success, q, setCC(wire.CCEnable|wire.CCIOSQES|wire.CCIOCQES), nil)
	return q, id
}

func setCC(v uint32) wire.Command {
	return wire.PropertyCommand{Set: true, Offset: wire.PropCC, Value: uint64(v)}.Command()
}

// io connects an I/O queue of a controller.
func (r *rig) io(sub, host string, id, qid uint16) fabric.Queue {
	r.Helper()
	q := r.dial(qid)
	r.want(wire.Success, q, connectCommand(qid, 0), connectData(sub, host, id))
	return q
}

// both connects an admin and an I/O queue.
func (r *rig) both() (admin, io fabric.Queue) {
	r.Helper()
	admin, id := r.admin(subNQN, hostNQN, 0)
	return admin, r.io(subNQN, hostNQN, id, 1)
}

// dead waits until the target has ended a queue.
func (r *rig) dead(q fabric.Queue) {
	r.Helper()
	deadline := time.Now().Add(patience)
	for time.Now().Before(deadline) {
		cmd := wire.Command{Opcode: wire.OpFlush, Flags: wire.FlagsSGL, NSID: 1}
		if _, err := fabric.Do(q, &cmd, nil); err != nil {
			return
		}
		time.Sleep(time.Millisecond)
	}
	r.Fatal("the connection is still there")
}

// hangsUp waits, in silence, until the target ends a queue: an event request
// is outstanding that the target holds.
func (r *rig) hangsUp(q fabric.Queue) {
	r.Helper()
	cmd := wire.Command{Opcode: wire.OpAsyncEvent}
	if q.Submit(0, &cmd, fabric.Buffer{}) != nil {
		return // ended already
	}
	var done [1]wire.Completion
	if n, err := q.Wait(done[:]); err == nil {
		r.Errorf("%d completions %+v instead of the end of the connection", n, done[0])
	} else if errors.Is(err, fabric.ErrTimeout) {
		r.Error("the connection is still there")
	}
}
