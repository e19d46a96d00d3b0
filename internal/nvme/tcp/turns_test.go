//go:build linux && !race

package tcp

import (
	"fmt"
	"net"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"weft/internal/nvme/fabric"
	"weft/internal/nvme/rawsock"
	"weft/internal/nvme/wire"
)

// ground answers reads in place and drops writes.
type ground struct{ data []byte }

func (h *ground) Begin(x *fabric.Exchange) (int, wire.Status) {
	if x.Command.Direction() == wire.ToController {
		return x.Length(), wire.Success
	}
	return 0, wire.Success
}

func (h *ground) Execute(x *fabric.Exchange) {
	if x.Command.Direction() == wire.ToHost {
		lba, _ := x.Command.Blocks()
		x.Push(fabric.Buffer{Bytes: h.data[lba*512:][:x.Length()], Owner: h, Shared: true})
	} else if x.Command.Opcode == wire.OpWrite {
		lba, _ := x.Command.Blocks()
		copy(h.data[lba*512:], x.Data)
	}
	x.Complete(0, wire.Success)
}

func (h *ground) Release([]byte)     {}
func (h *ground) Disconnected(error) {}

// pair is both ends of a connection, neither of which has a thread: whoever
// calls their turns does all the work, which makes its cost measurable on a
// busy machine.
type pair struct {
	q *queue
	p *polled
}

func newPair(tb testing.TB, depth int, agreed digests) *pair {
	tb.Helper()
	return newPairOn(tb, depth, agreed, pages(tb, 64<<20))
}

// newPairOn is newPair whose blocks are those of others, too.
func newPairOn(tb testing.TB, depth int, agreed digests, blocks []byte) *pair {
	tb.Helper()
	a, b := connected(tb)
	l := &listener{params: fabric.ListenParams{MaxDepth: 1024}.WithDefaults(), maxData: defaultMaxH2CData, conns: map[*targetConn]struct{}{}}
	l.nl, l.accept = emptyListener{}, func(fabric.Conn) fabric.Handler { return &ground{blocks} }
	c := newTargetConn(l, b)
	c.polled = &polled{c: c, loop: new(pollLoop)}
	if !c.polled.begin() {
		tb.Fatal("no target")
	}
	sock, err := rawsock.Detach(a)
	if err != nil {
		tb.Fatal(err)
	}
	c.ready, c.rx.digests, c.hostAlign = true, agreed, 4
	c.places(1)
	q := newPolledQueue(sock, fabric.DialParams{QID: 1, Depth: depth, InCapsule: 8192}, defaultMaxH2CData, agreed)
	p := &pair{q, c.polled}
	cmd := wire.ConnectCommand{QID: 1, SQSize: uint16(depth), Attributes: wire.ConnectNoFlow}.Command()
	if err := q.Submit(0, &cmd, fabric.Buffer{Bytes: make([]byte, wire.ConnectDataSize)}); err != nil {
		tb.Fatal(err)
	}
	p.wait(tb, make([]wire.Completion, 1))
	tb.Cleanup(func() { _ = q.Close(); _ = p.p.sock.Close(); c.out.stop() })
	return p
}

// pages is memory in large pages, where there are any, all of it written.
func pages(tb testing.TB, n int) []byte {
	tb.Helper()
	b, err := unix.Mmap(-1, 0, n, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = unix.Munmap(b) })
	_ = unix.Madvise(b, unix.MADV_HUGEPAGE)
	for i := 0; i < n; i += 4096 {
		b[i] = 1
	}
	return b
}

type emptyListener struct{ net.Listener }

func (emptyListener) Addr() net.Addr { return &net.TCPAddr{} }

// connected is a connection through the loopback.
func connected(tb testing.TB) (net.Conn, net.Conn) {
	tb.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	defer l.Close()
	a, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		tb.Fatal(err)
	}
	b, err := l.Accept()
	if err != nil {
		tb.Fatal(err)
	}
	noDelay(b)
	return a, b
}

// wait gives both ends turns until something has completed.
func (p *pair) wait(tb testing.TB, done []wire.Completion) int {
	for {
		n, err := p.q.Poll(done)
		if err != nil {
			tb.Fatal(err)
		}
		if n > 0 {
			return n
		}
		if _, over := p.p.turn(); over {
			tb.Fatal(p.p.why)
		}
	}
}

// run keeps depth commands outstanding until n have completed.
func (p *pair) run(tb testing.TB, op uint8, size, depth, n int) {
	buf := make([]byte, depth*size)
	done := make([]wire.Completion, depth)
	at, submitted := uint64(1), 0
	var cmd wire.Command
	submit := func(tag uint16) {
		at = at*6364136223846793005 + 1442695040888963407
		cmd = wire.Command{Opcode: op, NSID: 1}
		cmd.SetBlocks((at>>33)%uint64(64<<20/size)*uint64(size/512), size/512)
		if err := p.q.Submit(tag, &cmd, fabric.Buffer{Bytes: buf[int(tag)*size:][:size]}); err != nil {
			tb.Fatal(err)
		}
		submitted++
	}
	for tag := 0; tag < depth && submitted < n; tag++ {
		submit(uint16(tag))
	}
	for completed := 0; completed < n; {
		k := p.wait(tb, done)
		completed += k
		for i := range done[:k] {
			if submitted < n {
				submit(done[i].CID)
			}
		}
	}
}

// threadTime is the processor time of this thread.
func threadTime() time.Duration {
	var r unix.Rusage
	_ = unix.Getrusage(unix.RUSAGE_THREAD, &r)
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

// BenchmarkTurns is the processor time of both ends together for a command,
// and beside it that of the same bytes without NVMe.
func BenchmarkTurns(b *testing.B) {
	for _, c := range []struct {
		name  string
		op    uint8
		size  int
		depth int
	}{
		{"read", wire.OpRead, 4 << 10, 1},
		{"read", wire.OpRead, 4 << 10, 32},
		{"read", wire.OpRead, 4 << 10, 128},
		{"write", wire.OpWrite, 4 << 10, 32},
		{"read", wire.OpRead, 128 << 10, 32},
		{"write", wire.OpWrite, 128 << 10, 32},
	} {
		name := fmt.Sprintf("%s/%dKiB/depth=%d", c.name, c.size>>10, c.depth)
		for _, agreed := range []digests{{}, {true, true}} {
			b.Run(fmt.Sprintf("%s/digests=%v", name, agreed.data), func(b *testing.B) {
				if err := rawsock.Own(-1); err != nil {
					b.Fatal(err)
				}
				p := newPair(b, c.depth, agreed)
				p.run(b, c.op, c.size, c.depth, 8*c.depth+1000)
				b.ReportAllocs()
				b.ResetTimer()
				before := threadTime()
				p.run(b, c.op, c.size, c.depth, b.N)
				b.ReportMetric(float64(threadTime()-before)/float64(b.N), "cpu-ns/op")
			})
		}
		there, back := wire.CapsuleCmdSize, wire.DataHeaderSize+c.size
		if c.op == wire.OpWrite {
			there, back = wire.CapsuleCmdSize+c.size, wire.CapsuleRespSize
		}
		b.Run(name+"/raw", func(b *testing.B) { rawTurns(b, there, back, c.depth) })
	}
}

// rawTurns moves bytes like commands and responses.
func rawTurns(b *testing.B, there, back, depth int) {
	if err := rawsock.Own(-1); err != nil {
		b.Fatal(err)
	}
	x, y := connected(b)
	host, err := rawsock.Detach(x)
	if err != nil {
		b.Fatal(err)
	}
	defer host.Close()
	target, err := rawsock.Detach(y)
	if err != nil {
		b.Fatal(err)
	}
	defer target.Close()
	buf := make([]byte, 256<<10)
	b.ResetTimer()
	before := threadTime()
	owedThere, owedBack, partThere, partBack := min(depth, b.N)*there, 0, 0, 0
	for done, begun := 0, min(depth, b.N); done < b.N; {
		move := func(s *rawsock.Socket, owed *int) {
			if *owed > 0 {
				n, err := s.Write(buf[:min(*owed, len(buf))])
				if err != nil {
					b.Fatal(err)
				}
				*owed -= n
			}
		}
		move(host, &owedThere)
		n, _ := target.Read(buf, nil)
		partThere += n
		owedBack += partThere / there * back
		partThere %= there
		move(target, &owedBack)
		n, _ = host.Read(buf, nil)
		partBack += n
		for ; partBack >= back; partBack -= back {
			done++
			if begun < b.N {
				begun++
				owedThere += there
			}
		}
	}
	b.ReportMetric(float64(threadTime()-before)/float64(b.N), "cpu-ns/op")
}

// TestTurnsDoNotAllocate counts both ends.
func TestTurnsDoNotAllocate(t *testing.T) {
	for _, agreed := range []digests{{}, {true, true}} {
		for _, op := range []uint8{wire.OpRead, wire.OpWrite} {
			p := newPair(t, 32, agreed)
			const n = 2000
			p.run(t, op, 4096, 32, n)
			// Some are run's own, and the collector empties pools now and then.
			if got := testing.AllocsPerRun(3, func() { p.run(t, op, 4096, 32, n) }); got > n/50 {
				t.Errorf("opcode %d, digests %v: %v allocations for %d commands", op, agreed, got, n)
			}
		}
	}
}
