package rdma_test

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"sync/atomic"
	"testing"
	"time"

	"weft/internal/nvme/fabric"
	"weft/internal/nvme/nvmetest"
	"weft/internal/nvme/rdma"
	"weft/internal/nvme/rdma/verbs"
	"weft/internal/nvme/rdma/verbs/verbstest"
	"weft/internal/nvme/wire"
)

// A gate is a handler that keeps flushes until it is open.
type gate struct {
	fabric.Handler
	reached chan struct{}
	open    chan struct{}
}

func (g gate) Execute(x *fabric.Exchange) {
	if x.Command.Opcode == wire.OpFlush {
		g.reached <- struct{}{}
		<-g.open
	}
	g.Handler.Execute(x)
}

// sends submits a command and has it sent.
func sends(t *testing.T, q fabric.Queue, op uint8) {
	t.Helper()
	cmd := wire.Command{Opcode: op}
	if err := q.Submit(0, &cmd, fabric.Buffer{}); err != nil {
		t.Fatal(err)
	}
	if _, err := q.Poll(nil); err != nil {
		t.Fatal(err)
	}
}

// hostsOf connects hosts of 8 commands each.
func hostsOf(t *testing.T, tr fabric.Transport, addr string, n int) (all []fabric.Queue) {
	t.Helper()
	for range n {
		all = append(all, hostOf(t, tr, addr))
	}
	return all
}

// TestManyArriveAtOnce: what many connections have sent meanwhile is fetched together,
// and who serves them sleeps once for all.
func TestManyArriveAtOnce(t *testing.T) {
	const connections, most = 40, 4
	f := new(verbstest.Fabric)
	tr := memory(t, f)
	c := new(calls)
	disk := &nvmetest.Disk{Data: make([]byte, 1<<20)}
	g := gate{reached: make(chan struct{}), open: make(chan struct{})}
	l, err := (&rdma.Transport{Verbs: counting{f, c}}).Listen(t.Context(), fabric.ListenParams{Addr: "10.0.0.1:0", Processors: 1}, func(k fabric.Conn) fabric.Handler {
		return gate{disk.Accept(k), g.reached, g.open}
	})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	hosts := hostsOf(t, tr, l.Addr(), connections+1)
	sends(t, hosts[connections], wire.OpFlush)
	<-g.reached
	for _, q := range hosts[:connections] {
		sends(t, q, nvmetest.OpEcho)
	}
	c.reset()
	close(g.open)
	done := make([]wire.Completion, 8)
	for _, q := range hosts {
		if _, err := q.Wait(done); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d takes of %d completions, %d arms", c.takes.Load(), c.dones.Load(), c.arms.Load())
	if c.takes.Load() > most || c.arms.Load() > most {
		t.Errorf("%d takes and %d arms for %d connections, want at most %d", c.takes.Load(), c.arms.Load(), connections, most)
	}
}

// TestPollers: connections share hubs, one for each processor and no more than needed
// to have room for all that may complete; room is given back, and in the end the hub.
func TestPollers(t *testing.T) {
	const connections = 10
	room := verbs.Limits{Device: "small", Works: 4096, Dones: 150, Reads: 4, Issues: 4} // a connection of 8 has up to 62 completions
	for name, c := range map[string]struct {
		processors int
		limits     verbs.Limits
		hubs       int
	}{
		"one processor":    {1, verbs.Limits{}, 1},
		"three processors": {3, verbs.Limits{}, 3},
		"little room":      {1, room, connections / 2},
	} {
		t.Run(name, func(t *testing.T) {
			f := &verbstest.Fabric{Limit: c.limits}
			tr := memory(t, f)
			addr, disk := served(t, f, fabric.ListenParams{Processors: c.processors})
			for range 5 { // more than there is room for at a time
				hosts := hostsOf(t, tr, addr, connections)
				if n := f.Hubs() - connections; n != c.hubs {
					t.Errorf("%d hubs for %d connections, want %d", n, connections, c.hubs)
				}
				for _, q := range hosts {
					if got, err := fabric.Do(q, &wire.Command{Opcode: wire.OpFlush}, nil); err != nil || got.Status != wire.Success {
						t.Fatal(got.Status, err)
					}
				}
				for _, q := range hosts {
					if err := q.Close(); err != nil {
						t.Fatal(err)
					}
				}
				for end := time.Now().Add(patience); f.Hubs() > 0; time.Sleep(time.Millisecond) {
					if time.Now().After(end) {
						t.Fatalf("%d hubs are left", f.Hubs())
					}
				}
			}
			if _, ended := disk.Open(); len(ended) != 5*connections {
				t.Errorf("%d connections have ended, want %d", len(ended), 5*connections)
			}
		})
	}
}

// TestRoomIsGivenBack: connections that come and go beside one that stays find the
// room of those before them.
func TestRoomIsGivenBack(t *testing.T) {
	f := &verbstest.Fabric{Limit: verbs.Limits{Device: "small", Works: 4096, Dones: 150, Reads: 4, Issues: 4}}
	tr := memory(t, f)
	addr, disk := served(t, f, fabric.ListenParams{Processors: 1})
	stays, shared := hostOf(t, tr, addr), false
	for i := range 20 {
		q := hostOf(t, tr, addr)
		sends(t, q, nvmetest.OpNever)
		shared = shared || i > 0 && f.Hubs() == 3 // with that of stays, unless the room is given back a moment later
		if err := q.Close(); err != nil {
			t.Fatal(err)
		}
		for end := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
			if _, ended := disk.Open(); len(ended) == i+1 {
				break
			} else if time.Now().After(end) {
				t.Fatal("the connection goes on")
			}
		}
		if c, err := fabric.Do(stays, &wire.Command{Opcode: wire.OpFlush}, nil); err != nil || c.Status != wire.Success {
			t.Fatal(c.Status, err)
		}
	}
	if !shared {
		t.Error("nobody has found the room of who was before")
	}
}

// breaking is a provider whose hubs break when they are told to.
type breaking struct {
	verbs.Provider
	broken *atomic.Bool
}

type breakingAcceptor struct {
	verbs.Acceptor
	broken *atomic.Bool
}

type breakingLink struct {
	verbs.Link
	broken *atomic.Bool
}

type breakingDomain struct {
	verbs.Domain
	broken *atomic.Bool
}

type breakingHub struct {
	verbs.Hub
	broken *atomic.Bool
}

func (b breaking) Listen(at netip.AddrPort) (verbs.Acceptor, error) {
	a, err := b.Provider.Listen(at)
	return breakingAcceptor{a, b.broken}, err
}

func (b breaking) Resolve(context.Context, verbs.Route) (verbs.Link, error) {
	return nil, errors.ErrUnsupported
}

func (a breakingAcceptor) Accept() (verbs.Link, verbs.Hello, error) {
	k, h, err := a.Acceptor.Accept()
	return breakingLink{k, a.broken}, h, err
}

func (k breakingLink) Domain() verbs.Domain { return breakingDomain{k.Link.Domain(), k.broken} }

func (k breakingLink) Open(h verbs.Hub, q verbs.Queue) (verbs.Pair, error) {
	return k.Link.Open(h.(breakingHub).Hub, q)
}

func (d breakingDomain) Hub(room int) (verbs.Hub, error) {
	h, err := d.Domain.Hub(room)
	return breakingHub{h, d.broken}, err
}

var errBroken = errors.New("broken for the test")

func (h breakingHub) Poll(done []verbs.Done) (int, error) {
	if h.broken.CompareAndSwap(true, false) {
		return 0, fmt.Errorf("poll: %w", errBroken)
	}
	return h.Hub.Poll(done)
}

// TestHubBreaks: a hub that breaks ends all its connections with the reason; who comes
// then is served by another one.
func TestHubBreaks(t *testing.T) {
	const connections = 5
	f := new(verbstest.Fabric)
	tr := memory(t, f)
	broken := new(atomic.Bool)
	disk := &nvmetest.Disk{Data: make([]byte, 1<<20)}
	l, err := (&rdma.Transport{Verbs: breaking{f, broken}}).Listen(t.Context(), fabric.ListenParams{Addr: "10.0.0.1:0", Processors: 1}, disk.Accept)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	hosts := hostsOf(t, tr, l.Addr(), connections)
	broken.Store(true)
	if c, err := fabric.Do(hosts[0], &wire.Command{Opcode: wire.OpFlush}, nil); err == nil {
		t.Errorf("answered over a hub that is broken: %v", c.Status)
	}
	var ended []error
	for end := time.Now().Add(patience); len(ended) < connections; time.Sleep(time.Millisecond) {
		if _, ended = disk.Open(); time.Now().After(end) {
			t.Fatalf("%d connections have ended", len(ended))
		}
	}
	for _, err := range ended {
		if !errors.Is(err, errBroken) {
			t.Errorf("ended with %v, want %v", err, errBroken)
		}
	}
	if c, err := fabric.Do(hostOf(t, tr, l.Addr()), &wire.Command{Opcode: wire.OpFlush}, nil); err != nil || c.Status != wire.Success {
		t.Error(c.Status, err)
	}
}
