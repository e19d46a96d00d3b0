package initiator_test

import (
	"bytes"
	"context"
	"errors"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"weft/internal/nvme/fabric"
	"weft/internal/nvme/initiator"
	"weft/internal/nvme/tcp"
	"weft/internal/nvme/wire"
)

func TestConnect(t *testing.T) {
	both(t, func(t *testing.T, tr fabric.Transport) {
		f := newFake()
		o := options(serve(t, tr, f))
		o.Queues, o.QueueSize, o.KATO = 6, 1000, time.Hour
		c, err := initiator.Connect(context.Background(), tr, o)
		if err != nil {
			t.Fatal(err)
		}
		if c.ID() != 7 || c.Addr() != o.Addr || c.Identity().CNTLID != 7 || len(c.Queues()) != 4 || c.Err() != nil {
			t.Errorf("controller %d at %s with %d queues: %v", c.ID(), c.Addr(), len(c.Queues()), c.Err())
		}
		want := initiator.Namespace{ID: 1, BlockSize: 512, Blocks: 2048, UUID: [16]byte{15: 9}}
		if ns := c.Namespaces(); len(ns) != 1 || ns[0] != want || ns[0].Size() != 1<<20 {
			t.Errorf("namespaces %+v", ns)
		}
		if d := c.Queues()[0].Depth(); d != 63 {
			t.Errorf("queues of depth %d, want what MQES allows", d)
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		if !errors.Is(c.Err(), initiator.ErrClosed) {
			t.Errorf("after Close: %v", c.Err())
		}
		f.mu.Lock()
		defer f.mu.Unlock()
		for i, d := range f.hosts {
			id, kato := uint16(wire.DynamicController), uint32(3600000)
			if i > 0 {
				id, kato = 7, 0
			}
			if d.HostNQN != hostNQN || d.SubNQN != subNQN || d.ControllerID != id || d.HostID != [16]byte{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15} {
				t.Errorf("queue %d was connected with %+v", i, d)
			}
			if v := f.connects[i]; int(v.QID) != i || v.KATO != kato || !v.NoFlow() {
				t.Errorf("queue %d was connected by %+v", i, v)
			}
		}
		if f.cc&wire.CCShutdownAny != wire.CCShutdown {
			t.Errorf("CC is 0x%x after Close", f.cc)
		}
	})
}

func TestReadWriteFlush(t *testing.T) {
	both(t, func(t *testing.T, tr fabric.Transport) {
		f := newFake()
		c, err := initiator.Connect(context.Background(), tr, options(serve(t, tr, f)))
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		q, ns := c.Queues()[0], c.Namespaces()[0]
		out, in := make([]byte, 300<<10), make([]byte, 300<<10) // more than MDTS
		for i := range out {
			out[i] = byte(i * 7 >> 3)
		}
		if err := q.Write(ns, 3, out); err != nil {
			t.Fatal(err)
		}
		if err := q.Flush(ns); err != nil {
			t.Fatal(err)
		}
		if err := q.Read(ns, 3, in); err != nil || !bytes.Equal(in, out) {
			t.Fatalf("data changed, or %v", err)
		}
		if !bytes.Equal(f.disk.Snapshot()[3*512:][:len(out)], out) {
			t.Error("the data is not where it should be")
		}
		err = q.Read(ns, 2047, make([]byte, 1024))
		if !errors.Is(err, wire.LBAOutOfRange) || !strings.Contains(err.Error(), c.Addr()+": read namespace 1: LBA out of range") {
			t.Errorf("beyond the end: %v", err)
		}
		if err := q.Write(ns, 0, make([]byte, 100)); err == nil {
			t.Error("a part of a block was written")
		}
		if _, err := c.Admin(wire.Command{Opcode: wire.OpAbort}, nil); !errors.Is(err, wire.InvalidOpcode) {
			t.Errorf("unknown admin command: %v", err)
		}
	})
}

func TestConnectRefused(t *testing.T) {
	t.Parallel()
	answer := func(result uint64, st wire.Status) func(*fake) {
		return func(f *fake) {
			f.connect = func(wire.ConnectCommand, wire.ConnectData) (uint64, wire.Status) { return result, st }
		}
	}
	ns := func(change func(*wire.IdentifyNamespace)) func(*fake) {
		return func(f *fake) {
			n := f.spaces[1]
			change(&n)
			f.spaces[1] = n
		}
	}
	for _, c := range []struct {
		name string
		bend func(*fake)
		is   error
		say  string
	}{
		{"host", answer(0, wire.ConnectInvalidHost.WithDNR()), wire.ConnectInvalidHost, "connect invalid host"},
		{"name", answer(wire.ConnectInvalidResult(256, true), wire.ConnectInvalidParam), wire.ConnectInvalidParam, "at byte 256 of its data"},
		{"size", answer(wire.ConnectInvalidResult(44, false), wire.ConnectInvalidParam), wire.ConnectInvalidParam, "at byte 44 of its command"},
		{"authentication", answer(7|1<<17, wire.Success), initiator.ErrNoSecret, "DH-HMAC-CHAP"},
		{"secure channel", answer(7|1<<18, wire.Success), nil, "TLS"},
		{"wrong id", answer(8, wire.Success), nil, "controller 8 identifies itself as 7"},
		{"large pages", func(f *fake) { f.cap.MPSMIN = 1 }, nil, "8192"},
		{"never ready", func(f *fake) { f.unready = true }, nil, "CSTS 0x0"},
		{"no SGLs", func(f *fake) { f.id.SGLS = 0 }, nil, "SGLs"},
		{"discovery", func(f *fake) { f.id.CntrlType = wire.ControllerDiscovery }, nil, "discovery controller"},
		{"identify", func(f *fake) { f.refuse = map[uint8]wire.Status{wire.OpIdentify: wire.InternalError} }, wire.InternalError, "identify controller: internal error"},
		{"queues", func(f *fake) { f.refuse = map[uint8]wire.Status{wire.OpSetFeatures: wire.InvalidField} }, wire.InvalidField, "set number of queues"},
		{"no queue", func(f *fake) { f.cap.MQES = 0 }, nil, "1 entries"},
		{"I/O queue", func(f *fake) {
			f.connect = func(v wire.ConnectCommand, _ wire.ConnectData) (uint64, wire.Status) {
				if v.QID == 2 {
					return 0, wire.ConnectControllerBusy
				}
				return 7, wire.Success
			}
		}, wire.ConnectControllerBusy, "I/O queue 2"},
		{"metadata", ns(func(n *wire.IdentifyNamespace) { n.LBAF[0].MS = 8 }), nil, "namespace 1"},
		{"list backwards", func(f *fake) { f.ids = wire.NSList{2, 1}; f.spaces[2] = f.spaces[1] }, nil, "ascending"},
	} {
		t.Run(c.name, func(t *testing.T) {
			both(t, func(t *testing.T, tr fabric.Transport) {
				f := newFake()
				c.bend(f)
				o := options(serve(t, tr, f))
				o.Queues = 2
				_, err := initiator.Connect(context.Background(), tr, o)
				if err == nil || c.is != nil && !errors.Is(err, c.is) {
					t.Fatalf("%v, want %v", err, c.is)
				}
				for _, say := range []string{c.say, subNQN + " at " + o.Addr} {
					if !strings.Contains(err.Error(), say) {
						t.Errorf("%q does not say %q", err, say)
					}
				}
			})
		})
	}
}

func TestConnectIsBounded(t *testing.T) {
	both(t, func(t *testing.T, tr fabric.Transport) {
		f := newFake()
		f.unready, f.cap.TO = true, 255
		ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
		defer cancel()
		if _, err := initiator.Connect(ctx, tr, options(serve(t, tr, f))); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v", err)
		}
	})
	silent := errors.New("it did not answer in time") // told also where not even a connection is made in time
	ctx, cancel := context.WithTimeoutCause(t.Context(), time.Millisecond, silent)
	defer cancel()
	mute := &tcp.Transport{DialAddr: func(ctx context.Context, _ string) (net.Conn, error) {
		<-ctx.Done()
		return nil, os.ErrDeadlineExceeded
	}}
	if _, err := initiator.Connect(ctx, mute, options("127.0.0.1:1")); !errors.Is(err, silent) {
		t.Errorf("%v", err)
	}
	for what, change := range map[string]func(*initiator.Options){
		"subsystem":  func(o *initiator.Options) { o.SubNQN = "pool" },
		"host":       func(o *initiator.Options) { o.HostNQN = "" },
		"I/O queues": func(o *initiator.Options) { o.Queues = -1 },
		"commands":   func(o *initiator.Options) { o.QueueSize = 1 << 16 },
	} {
		o := options("127.0.0.1:1")
		change(&o)
		if _, err := initiator.Connect(context.Background(), nil, o); err == nil || !strings.Contains(err.Error(), what) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func TestManyNamespaces(t *testing.T) {
	both(t, func(t *testing.T, tr fabric.Transport) {
		f := newFake()
		f.uuid = [16]byte{} // and without descriptors
		f.ids = nil
		for id := uint32(1); id <= wire.MaxNSList+5; id++ {
			f.ids = append(f.ids, id)
			f.spaces[id] = f.spaces[1]
		}
		c, err := initiator.Connect(context.Background(), tr, options(serve(t, tr, f)))
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if n := len(c.Namespaces()); n != wire.MaxNSList+5 {
			t.Errorf("%d namespaces", n)
		}
	})
}

// TestBoastfulController: what it claims beyond all reason is not relied on.
func TestBoastfulController(t *testing.T) {
	both(t, func(t *testing.T, tr fabric.Transport) {
		f := newFake()
		f.granted = wire.QueueCounts{Submission: 65536, Completion: 65536}
		f.cap.MQES, f.id.MAXCMD, f.id.MDTS = 65535, 65535, 255
		o := options(serve(t, tr, f))
		o.Queues, o.QueueSize = 2, 16
		c, err := initiator.Connect(context.Background(), tr, o)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if n := len(c.Queues()); n != 2 || c.Queues()[0].Depth() != 16 {
			t.Errorf("%d queues of depth %d, want what was asked for", n, c.Queues()[0].Depth())
		}
		q, ns := c.Queues()[0], c.Namespaces()[0]
		out, in := bytes.Repeat([]byte{0x5a}, 512<<10), make([]byte, 512<<10)
		if err := errors.Join(q.Write(ns, 0, out), q.Read(ns, 0, in)); err != nil || !bytes.Equal(in, out) {
			t.Errorf("data changed, or %v", err)
		}
	})
}

func TestKeepAlive(t *testing.T) {
	both(t, func(t *testing.T, tr fabric.Transport) {
		f := newFake()
		o := options(serve(t, tr, f))
		o.KATO = 20 * time.Millisecond
		c, err := initiator.Connect(context.Background(), tr, o)
		if err != nil {
			t.Fatal(err)
		}
		for range 3 {
			select {
			case <-f.alive:
			case <-time.After(patience):
				t.Fatal("no keep-alive")
			}
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
}

func TestLostTarget(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, tr fabric.Transport) {
		f := newFake()
		o := options(serve(t, tr, f))
		o.KATO, o.Timeout = 200*time.Millisecond, time.Second
		c, err := initiator.Connect(context.Background(), tr, o)
		for errors.Is(err, fabric.ErrTimeout) && o.Timeout < patience { // a slow machine
			o.Timeout *= 2
			c, err = initiator.Connect(context.Background(), tr, o)
		}
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		f.mu.Lock()
		f.deaf = true
		f.mu.Unlock()
		select {
		case <-c.Done():
		case <-time.After(patience):
			t.Fatal("nobody has noticed")
		}
		if err := c.Err(); !errors.Is(err, fabric.ErrTimeout) || !strings.Contains(err.Error(), "keep alive") {
			t.Errorf("%v", err)
		}
		if err := c.Queues()[0].Flush(c.Namespaces()[0]); err == nil {
			t.Error("a lost controller does I/O")
		}
	})
}

func TestHostIDOf(t *testing.T) {
	id := [16]byte{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}
	if got := initiator.HostIDOf(hostNQN); got != id {
		t.Errorf("%x", got)
	}
	a, b := initiator.HostIDOf("nqn.2026-11.org.example:a"), initiator.HostIDOf("nqn.2026-11.org.example:b")
	if a == b || a == id || a != initiator.HostIDOf("nqn.2026-11.org.example:a") {
		t.Errorf("%x, %x", a, b)
	}
}
