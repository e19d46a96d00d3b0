package rdma_test

import (
	"errors"
	"testing"
	"time"

	"weft/internal/hint"
	"weft/internal/nvme/fabric"
	"weft/internal/nvme/nvmetest"
	"weft/internal/nvme/rdma/verbs"
	"weft/internal/nvme/rdma/verbs/verbstest"
	"weft/internal/nvme/wire"
)

// hostOf connects a host of 8 commands.
func hostOf(t *testing.T, tr fabric.Transport, addr string) fabric.Queue {
	t.Helper()
	q, err := tr.Dial(t.Context(), fabric.DialParams{Addr: addr, QID: 1, Depth: 8, InCapsule: 4096, Timeout: patience})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := q.Close(); err != nil {
			t.Error(err)
		}
	})
	connect := wire.ConnectCommand{QID: 1, SQSize: 8}.Command()
	if c, err := fabric.Do(q, &connect, make([]byte, wire.ConnectDataSize)); err != nil || c.Status != wire.Success {
		t.Fatal(c.Status, err)
	}
	return q
}

// ending waits until the target has been told of the first end of a connection.
func ending(t *testing.T, disk *nvmetest.Disk) error {
	t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		if _, ended := disk.Open(); len(ended) > 0 {
			return ended[0]
		}
		if time.Now().After(deadline) {
			t.Fatal("the connection goes on")
		}
	}
}

// TestEvents: what the device tells of itself in the middle of I/O ends both
// ends with the reason; nothing stays registered, and who comes then is served.
func TestEvents(t *testing.T) {
	for name, c := range map[string]struct {
		happen  func(*verbstest.Fabric)
		want    error
		lasting bool // nothing passes any more, and there is something to look at
	}{
		"device failed": {(*verbstest.Fabric).Fail, verbs.ErrDevice, true},
		"queue error":   {(*verbstest.Fabric).QueueError, verbs.ErrQueue, false},
	} {
		for _, poll := range []bool{false, true} {
			if poll {
				name += ", polled"
			}
			t.Run(name, func(t *testing.T) {
				f := new(verbstest.Fabric)
				tr := memory(t, f)
				tr.Poll = poll
				addr, disk := served(t, f, fabric.ListenParams{})
				q := hostOf(t, tr, addr)
				for tag, op := range []uint8{nvmetest.OpNever, wire.OpRead, wire.OpWrite} {
					cmd, data := wire.Command{Opcode: op, CDW12: 15}, make([]byte, 8192)
					if op == nvmetest.OpNever {
						data = nil
					}
					if err := q.Submit(uint16(tag), &cmd, fabric.Buffer{Bytes: data}); err != nil {
						t.Fatal(err)
					}
				}
				done := make([]wire.Completion, 8)
				if _, err := q.Poll(done); err != nil {
					t.Fatal(err)
				}
				failed := make(chan error, 1)
				go func() {
					for {
						if _, err := q.Wait(done); err != nil {
							failed <- err
							return
						}
					}
				}()
				c.happen(f)
				host, target := <-failed, ending(t, disk)
				told := 0
				for end, err := range map[string]error{"host": host, "target": target} {
					switch {
					case errors.Is(err, c.want):
						told++
						if (hint.Of(err) != "") != c.lasting {
							t.Errorf("the %s: %v: hint %q", end, err, hint.Of(err))
						}
					case c.lasting || !errors.Is(err, verbs.ErrDisconnected): // who looks first says farewell where it can
						t.Errorf("the %s: %v, want %v", end, err, c.want)
					}
				}
				if told == 0 {
					t.Errorf("nobody was told: %v, %v", host, target)
				}
				if err := q.Submit(3, &wire.Command{}, fabric.Buffer{}); err == nil {
					t.Error("a dead queue takes commands")
				}
				if c, err := fabric.Do(hostOf(t, tr, addr), &wire.Command{Opcode: wire.OpFlush}, nil); err != nil || c.Status != wire.Success {
					t.Errorf("who comes then: %v %v", c.Status, err)
				}
			})
		}
	}
}

// gated is a handler that answers when it may.
type gated struct {
	fabric.Handler
	open chan struct{}
}

func (g gated) Execute(x *fabric.Exchange) {
	if x.Command.Opcode == wire.OpFlush {
		<-g.open
	}
	g.Handler.Execute(x)
}

// TestVanished: a peer that is there no longer and has not said so ends the
// connection as soon as something is wanted from it, at either end.
func TestVanished(t *testing.T) {
	f := new(verbstest.Fabric)
	tr := memory(t, f)
	disk := &nvmetest.Disk{Data: make([]byte, 1<<20)}
	open := make(chan struct{})
	l, err := tr.Listen(t.Context(), fabric.ListenParams{Addr: "10.0.0.1:0"}, func(c fabric.Conn) fabric.Handler {
		return gated{disk.Accept(c), open}
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	q := hostOf(t, tr, l.Addr())
	if err := q.Submit(0, &wire.Command{Opcode: wire.OpFlush}, fabric.Buffer{}); err != nil {
		t.Fatal(err)
	}
	done := make([]wire.Completion, 8)
	if _, err := q.Poll(done); err != nil { // sends it
		t.Fatal(err)
	}
	f.Cut(true)
	close(open)
	if err := ending(t, disk); !errors.Is(err, verbs.NoAnswer) {
		t.Errorf("the target: %v", err)
	}
	if err := q.Submit(1, &wire.Command{Opcode: wire.OpFlush}, fabric.Buffer{}); err != nil {
		t.Fatal(err)
	}
	if _, err := q.Wait(done); !errors.Is(err, verbs.NoAnswer) {
		t.Errorf("the host: %v", err)
	}
	f.Cut(false)
	if c, err := fabric.Do(hostOf(t, tr, l.Addr()), &wire.Command{Opcode: wire.OpFlush}, nil); err != nil || c.Status != wire.Success {
		t.Errorf("with the cable back: %v %v", c.Status, err)
	}
}

// TestShortOffer: iWARP does not pad private data, and what is too short is no
// offer.
func TestShortOffer(t *testing.T) {
	f := &verbstest.Fabric{Limit: verbs.Limits{Device: "siw", Works: 4096, Dones: 8192, Reads: 4, Issues: 4, IWARP: true}}
	memory(t, f)
	addr, disk := served(t, f, fabric.ListenParams{})
	for _, n := range []int{0, 1, 31} {
		_, err := offer(t, f, addr, goodRequest()[:n], 4)
		var refused *verbs.RefusedError
		var rej wire.RDMAReject
		if !errors.As(err, &refused) || rej.UnmarshalBinary(refused.Private) != nil || rej.Status != wire.RDMAInvalidLength {
			t.Errorf("%d bytes: %v, %v", n, err, rej.Status)
		}
	}
	if _, err := offer(t, f, addr, goodRequest(), 4); err != nil {
		t.Error(err)
	}
	if _, ended := disk.Open(); len(ended) != 0 {
		t.Errorf("the handler was told %v", ended)
	}
}
