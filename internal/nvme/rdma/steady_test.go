package rdma_test

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"runtime"
	"sync/atomic"
	"testing"

	"weft/internal/nvme/fabric"
	"weft/internal/nvme/nvmetest"
	"weft/internal/nvme/rdma"
	"weft/internal/nvme/rdma/verbs"
	"weft/internal/nvme/rdma/verbs/verbstest"
	"weft/internal/nvme/wire"
)

// counting is a provider that counts what its connections ask of the hardware.
type counting struct {
	verbs.Provider
	calls *calls
}

// calls are those of all connections.
type calls struct {
	posts, works    atomic.Int64 // Send, and what it was given
	receives, rooms atomic.Int64 // the same of Receive
	takes, dones    atomic.Int64 // Poll that found something, and what
	looks           atomic.Int64 // Poll that found nothing
	arms            atomic.Int64
}

func (c *calls) reset() {
	for _, n := range []*atomic.Int64{&c.posts, &c.works, &c.receives, &c.rooms, &c.takes, &c.dones, &c.looks, &c.arms} {
		n.Store(0)
	}
}

type countingAcceptor struct {
	verbs.Acceptor
	calls *calls
}

type countingLink struct {
	verbs.Link
	calls  *calls
	domain verbs.Domain
}

func newCountingLink(k verbs.Link, c *calls) countingLink {
	return countingLink{k, c, countingDomain{k.Domain(), c}}
}

type countingDomain struct {
	verbs.Domain
	calls *calls
}

type countingHub struct {
	verbs.Hub
	calls *calls
}

type countingPair struct {
	verbs.Pair
	calls *calls
}

func (c counting) Listen(at netip.AddrPort) (verbs.Acceptor, error) {
	a, err := c.Provider.Listen(at)
	return countingAcceptor{a, c.calls}, err
}

func (c counting) Resolve(ctx context.Context, r verbs.Route) (verbs.Link, error) {
	k, err := c.Provider.Resolve(ctx, r)
	if err != nil {
		return nil, err
	}
	return newCountingLink(k, c.calls), nil
}

func (a countingAcceptor) Accept() (verbs.Link, verbs.Hello, error) {
	k, h, err := a.Acceptor.Accept()
	if err != nil {
		return nil, h, err
	}
	return newCountingLink(k, a.calls), h, nil
}

func (k countingLink) Domain() verbs.Domain { return k.domain }

func (d countingDomain) Hub(room int) (verbs.Hub, error) {
	h, err := d.Domain.Hub(room)
	return countingHub{h, d.calls}, err
}

func (k countingLink) Open(h verbs.Hub, q verbs.Queue) (verbs.Pair, error) {
	p, err := k.Link.Open(h.(countingHub).Hub, q)
	return countingPair{p, k.calls}, err
}

func (p countingPair) Send(works []verbs.Work) error {
	p.calls.posts.Add(1)
	p.calls.works.Add(int64(len(works)))
	return p.Pair.Send(works)
}

func (p countingPair) Receive(works []verbs.Work) error {
	p.calls.receives.Add(1)
	p.calls.rooms.Add(int64(len(works)))
	return p.Pair.Receive(works)
}

func (p countingHub) Poll(done []verbs.Done) (int, error) {
	n, err := p.Hub.Poll(done)
	if n == 0 {
		p.calls.looks.Add(1)
		return n, err
	}
	p.calls.takes.Add(1)
	p.calls.dones.Add(int64(n))
	return n, err
}

func (p countingHub) Arm() error {
	p.calls.arms.Add(1)
	return p.Hub.Arm()
}

// steady has a queue do the same again and again, with depth commands at once:
// what every command does costs no memory, all that has come is fetched with one
// call, and what follows from it is posted with one.
func steady(t *testing.T, v verbs.Provider, addr string, depth int, op uint8, size int) {
	// With one processor nobody looks for a moment before it sleeps: as often as
	// there is time for.
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	c := new(calls)
	tr := &rdma.Transport{Verbs: counting{v, c}}
	disk := &nvmetest.Disk{Data: make([]byte, 4<<20)}
	l, err := tr.Listen(t.Context(), fabric.ListenParams{Addr: addr}, disk.Accept)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	q, err := tr.Dial(t.Context(), fabric.DialParams{Addr: l.Addr(), QID: 1, Depth: depth, InCapsule: 4096})
	if err != nil {
		t.Fatal(err)
	}
	defer q.Close()
	connect := wire.ConnectCommand{QID: 1, SQSize: uint16(depth)}.Command()
	if c, err := fabric.Do(q, &connect, make([]byte, wire.ConnectDataSize)); err != nil || c.Status != wire.Success {
		t.Fatal(c.Status, err)
	}
	done, data, cmd := make([]wire.Completion, depth), make([]byte, depth*size), new(wire.Command)
	round := func() {
		for tag := range depth {
			*cmd = wire.Command{Opcode: op}
			cmd.SetBlocks(uint64(tag*size/nvmetest.BlockSize), size/nvmetest.BlockSize)
			if err := q.Submit(uint16(tag), cmd, fabric.Buffer{Bytes: data[tag*size:][:size]}); err != nil {
				t.Fatal(err)
			}
		}
		for left := depth; left > 0; {
			n, err := q.Wait(done)
			if err != nil {
				t.Fatal(err)
			}
			for i := range done[:n] {
				if done[i].Status != wire.Success {
					t.Fatal(done[i].Status)
				}
			}
			left -= n
		}
	}
	for range 20 {
		round()
	}
	c.reset()
	const rounds = 100
	allocs := testing.AllocsPerRun(rounds, round)
	t.Logf("%d commands: %d posts of %d works, %d of %d receives, %d takes of %d completions, %d looks, %d arms", (rounds+1)*depth,
		c.posts.Load(), c.works.Load(), c.receives.Load(), c.rooms.Load(), c.takes.Load(), c.dones.Load(), c.looks.Load(), c.arms.Load())
	if allocs != 0 {
		t.Errorf("%d commands allocate %v times", depth, allocs)
	}
	// The host posts for its commands, and each end for what it has taken.
	if most := c.takes.Load() + 2*(rounds+1); c.posts.Load() > most || c.receives.Load() > most {
		t.Errorf("%d posts and %d of receives, want at most %d", c.posts.Load(), c.receives.Load(), most)
	}
	// Before it sleeps each end looks once before and once after it has armed.
	if most := 2*c.arms.Load() + 4; c.looks.Load() > most {
		t.Errorf("%d looks that found nothing, want at most %d", c.looks.Load(), most)
	}
}

func testSteady(t *testing.T, v func() verbs.Provider, addr string) {
	for _, depth := range []int{1, 32} {
		for name, op := range map[string]uint8{"read": wire.OpRead, "write": wire.OpWrite} {
			for _, size := range []int{4 << 10, 16 << 10} { // in the capsule, and not
				t.Run(fmt.Sprintf("%s/%d/depth %d", name, size, depth), func(t *testing.T) { steady(t, v(), addr, depth, op, size) })
			}
		}
	}
}

func TestSteady(t *testing.T) {
	testSteady(t, func() verbs.Provider { return new(verbstest.Fabric) }, "10.0.0.1:0")
}

func TestSteadyHardware(t *testing.T) {
	v, ip := hardware(t)
	testSteady(t, func() verbs.Provider { return v }, net.JoinHostPort(ip.String(), "0"))
}
