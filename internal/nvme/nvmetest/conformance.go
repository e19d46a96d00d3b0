package nvmetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"weft/internal/nvme/fabric"
	"weft/internal/nvme/wire"
)

// patience is how long the suite waits for what should take no time.
const patience = time.Minute

// Conformance runs the suite on a transport. Portals are opened on addr, which
// has port 0.
func Conformance(t *testing.T, newTransport func(t *testing.T) fabric.Transport, addr string) {
	for name, test := range map[string]func(*rig){
		"status":                    (*rig).status,
		"sizes":                     (*rig).sizes,
		"depth 32":                  func(r *rig) { r.depth(32, false) },
		"depth 128":                 func(r *rig) { r.depth(128, false) },
		"asynchronous":              func(r *rig) { r.depth(32, true) },
		"both ways":                 (*rig).bothWays,
		"lending":                   (*rig).lending,
		"poll":                      (*rig).poll,
		"tags":                      (*rig).tags,
		"timeout":                   (*rig).timeout,
		"host closes":               func(r *rig) { r.hostCloses(false) },
		"host closes, asynchronous": func(r *rig) { r.hostCloses(true) },
		"target closes":             (*rig).targetCloses,
		"portal closes":             (*rig).portalCloses,
		"many":                      (*rig).many,
		"refused":                   (*rig).refused,
		"addresses":                 (*rig).addresses,
	} {
		t.Run(name, func(t *testing.T) {
			test(&rig{t: t, tr: newTransport(t), addr: addr, disk: &Disk{Data: make([]byte, 4<<20)}})
		})
	}
}

// rig is a portal with a Disk behind it.
type rig struct {
	t    *testing.T
	tr   fabric.Transport
	addr string
	disk *Disk
	l    fabric.Listener
}

func (r *rig) listen(accept func(fabric.Conn) fabric.Handler) {
	r.t.Helper()
	l, err := r.tr.Listen(context.Background(), fabric.ListenParams{Addr: r.addr}, accept)
	if err != nil {
		r.t.Fatal(err)
	}
	r.l = l
	r.t.Cleanup(func() {
		if err := l.Close(); err != nil {
			r.t.Error(err)
		}
		r.disk.Wait()
	})
}

// dial opens and connects an I/O queue.
func (r *rig) dial(depth int, timeout time.Duration) fabric.Queue {
	r.t.Helper()
	q, err := r.open(depth, timeout)
	if err != nil {
		r.t.Fatal(err)
	}
	return q
}

// open is dial where connecting may fail.
func (r *rig) open(depth int, timeout time.Duration) (fabric.Queue, error) {
	r.t.Helper()
	if r.l == nil {
		r.listen(r.disk.Accept)
	}
	q, err := r.tr.Dial(context.Background(), fabric.DialParams{
		Addr: r.l.Addr(), QID: 1, Depth: depth, InCapsule: fabric.DefaultInCapsule, Timeout: timeout,
	})
	if err != nil {
		return nil, err
	}
	r.t.Cleanup(func() { _ = q.Close() })
	connect := wire.ConnectCommand{QID: 1, SQSize: uint16(depth), Attributes: wire.ConnectNoFlow}.Command()
	c, err := fabric.Do(q, &connect, make([]byte, wire.ConnectDataSize))
	if err == nil {
		err = c.Status.Err()
	}
	if err != nil {
		return nil, fmt.Errorf("connect: %w", err)
	}
	return q, nil
}

func transfer(op uint8, lba, n int) *wire.Command {
	c := &wire.Command{Opcode: op, NSID: 1}
	c.SetBlocks(uint64(lba), n)
	return c
}

func (r *rig) do(q fabric.Queue, cmd *wire.Command, data []byte) wire.Completion {
	r.t.Helper()
	c, err := fabric.Do(q, cmd, data)
	if err != nil {
		r.t.Fatal(err)
	}
	return c
}

func (r *rig) status() {
	q := r.dial(4, patience)
	fail := wire.UnrecoveredRead.WithDNR()
	if c := r.do(q, &wire.Command{Opcode: OpFail, CDW10: uint32(fail)}, nil); c.Status != fail {
		r.t.Errorf("status 0x%x, want 0x%x", uint16(c.Status), uint16(fail))
	}
	if c := r.do(q, &wire.Command{Opcode: OpEcho, CDW10: 0x11223344, CDW11: 0x55667788}, nil); c.Result != 0x5566778811223344 {
		r.t.Errorf("result 0x%x", c.Result)
	}
	for what, want := range map[*wire.Command]wire.Status{
		{Opcode: 0x7c}:                   wire.InvalidOpcode,
		transfer(wire.OpRead, 1<<30, 1):  wire.LBAOutOfRange,
		transfer(wire.OpWrite, 1<<30, 1): wire.LBAOutOfRange,
		transfer(wire.OpRead, 0, 2):      wire.SGLInvalidLength,
		transfer(wire.OpWrite, 0, 2):     wire.SGLInvalidLength,
		{Opcode: OpTooBig}:               wire.SGLInvalidLength,
		{Opcode: wire.OpFlush, NSID: 1}:  wire.Success,
	} {
		var data []byte
		if what.Direction() != wire.NoData {
			data = make([]byte, BlockSize)
		}
		if c := r.do(q, what, data); c.Status.Code() != want {
			r.t.Errorf("opcode 0x%x: %v, want %v", what.Opcode, c.Status, want)
		}
	}
}

// pattern fills b with what is unlikely to be there by chance.
func pattern(b []byte, seed int) {
	for i := range b {
		b[i] = byte(i*7 + i>>8*13 + seed*31 + 1)
	}
}

func (r *rig) sizes() {
	q := r.dial(4, patience)
	for i, n := range []int{1, 2, 8, 15, 16, 17, 32, 100, 128, 256, 257, 2048} {
		out, in := make([]byte, n*BlockSize), make([]byte, n*BlockSize)
		pattern(out, i)
		if c := r.do(q, transfer(wire.OpWrite, i, n), out); c.Status != wire.Success {
			r.t.Fatalf("write of %d: %v", len(out), c.Status)
		}
		if c := r.do(q, transfer(wire.OpRead, i, n), in); c.Status != wire.Success {
			r.t.Fatalf("read of %d: %v", len(in), c.Status)
		}
		if !bytes.Equal(in, out) {
			r.t.Fatalf("%d bytes came back changed", n*BlockSize)
		}
	}
	if c := r.do(q, transfer(wire.OpWrite, 0, 2049), make([]byte, 2049*BlockSize)); c.Status.Code() != wire.InvalidField {
		r.t.Errorf("write beyond the largest transfer: %v", c.Status)
	}
}

// depth writes and reads back with many commands outstanding, of sizes that
// take every path.
func (r *rig) depth(depth int, async bool) {
	r.disk.Async = async
	q := r.dial(depth, patience)
	const blocks = 40
	bufs := make([][]byte, depth)
	round := func(op uint8, prepare, check func(tag, n int)) {
		done := make([]wire.Completion, depth)
		next, left := 0, 3*depth
		submit := func(tag int) {
			n := 1 + next%blocks
			prepare(tag, n)
			next++
			if err := q.Submit(uint16(tag), transfer(op, tag*blocks, n), fabric.Buffer{Bytes: bufs[tag]}); err != nil {
				r.t.Fatal(err)
			}
		}
		for tag := range depth {
			submit(tag)
		}
		for left > 0 {
			k, err := q.Wait(done)
			if err != nil {
				r.t.Fatal(err)
			}
			for _, c := range done[:k] {
				if c.Status != wire.Success {
					r.t.Fatalf("command %d: %v", c.CID, c.Status)
				}
				tag := int(c.CID)
				check(tag, len(bufs[tag])/BlockSize)
				left--
				if next < 3*depth {
					submit(tag)
				}
			}
		}
	}
	written := make([]int, depth)
	round(wire.OpWrite, func(tag, n int) {
		bufs[tag] = make([]byte, n*BlockSize)
		pattern(bufs[tag], tag)
	}, func(tag, n int) { written[tag] = max(written[tag], n) })
	round(wire.OpRead, func(tag, n int) {
		bufs[tag] = make([]byte, n*BlockSize)
	}, func(tag, n int) {
		n = min(n, written[tag]) * BlockSize
		want := make([]byte, n)
		pattern(want, tag)
		if !bytes.Equal(bufs[tag][:n], want) {
			r.t.Fatalf("tag %d: %d bytes came back changed", tag, n)
		}
	})
}

// bothWays moves more in both directions at once than any socket buffers: an
// end that does not listen while it speaks stops here.
func (r *rig) bothWays() {
	const depth, size = 32, 1 << 20
	q := r.dial(depth, patience)
	for tag := range depth {
		op := []uint8{wire.OpRead, wire.OpWrite}[tag%2]
		if err := q.Submit(uint16(tag), transfer(op, tag%4*size/BlockSize, size/BlockSize), fabric.Buffer{Bytes: make([]byte, size)}); err != nil {
			r.t.Fatal(err)
		}
	}
	done := make([]wire.Completion, depth)
	for left := depth; left > 0; {
		n, err := q.Wait(done)
		if err != nil {
			r.t.Fatal(err)
		}
		for _, c := range done[:n] {
			if c.Status != wire.Success {
				r.t.Errorf("command %d: %v", c.CID, c.Status)
			}
		}
		left -= n
	}
}

// lending demands every pushed buffer back, once: after success, after an
// error, and when the host leaves without reading.
func (r *rig) lending() {
	q := r.dial(32, patience)
	for _, st := range []wire.Status{wire.Success, wire.UnrecoveredRead} {
		for _, size := range []int{1024, 64 << 10} {
			c := r.do(q, &wire.Command{Opcode: OpLend, CDW10: uint32(st)}, make([]byte, size))
			if c.Status != st {
				r.t.Errorf("%d bytes: %v, want %v", size, c.Status, st)
			}
		}
	}
	for tag := range uint16(32) {
		if err := q.Submit(tag, &wire.Command{Opcode: OpLend}, fabric.Buffer{Bytes: make([]byte, 1<<20)}); err != nil {
			r.t.Fatal(err)
		}
	}
	if _, err := q.Poll(make([]wire.Completion, 32)); err != nil {
		r.t.Fatal(err)
	}
	_ = q.Close()
	r.gone(1)
	if n := r.disk.Lent(); n != 0 {
		r.t.Errorf("%d buffers were not released", n)
	}
}

func (r *rig) poll() {
	q := r.dial(8, patience)
	buf := make([]byte, 4096)
	done := make([]wire.Completion, 8)
	for range 100 {
		if err := q.Submit(3, transfer(wire.OpRead, 0, 8), fabric.Buffer{Bytes: buf}); err != nil {
			r.t.Fatal(err)
		}
		n := 0
		for deadline := time.Now().Add(patience); n == 0; {
			var err error
			if n, err = q.Poll(done); err != nil {
				r.t.Fatal(err)
			}
			if time.Now().After(deadline) {
				r.t.Fatal("nothing completed")
			}
		}
		if n != 1 || done[0].CID != 3 {
			r.t.Fatalf("%d completions, the first of command %d", n, done[0].CID)
		}
	}
}

func (r *rig) tags() {
	q := r.dial(2, patience)
	done := make([]wire.Completion, 2)
	if _, err := q.Wait(done); !errors.Is(err, fabric.ErrIdle) {
		r.t.Errorf("wait on an idle queue: %v", err)
	}
	if err := q.Submit(2, &wire.Command{}, fabric.Buffer{}); !errors.Is(err, fabric.ErrTag) {
		r.t.Errorf("tag beyond the depth: %v", err)
	}
	if err := q.Submit(1, &wire.Command{Opcode: OpNever}, fabric.Buffer{}); err != nil {
		r.t.Fatal(err)
	}
	if err := q.Submit(1, &wire.Command{}, fabric.Buffer{}); !errors.Is(err, fabric.ErrTag) {
		r.t.Errorf("tag in use: %v", err)
	}
	r.do(q, &wire.Command{Opcode: wire.OpFlush}, nil) // another one passes
}

func (r *rig) many() {
	var wg sync.WaitGroup
	queues := make([]fabric.Queue, 8)
	for i := range queues {
		queues[i] = r.dial(8, patience)
	}
	for i, q := range queues {
		wg.Go(func() {
			out, in := make([]byte, 64<<10), make([]byte, 64<<10)
			pattern(out, i)
			for range 20 {
				if _, err := fabric.Do(q, transfer(wire.OpWrite, i*128, 128), out); err != nil {
					r.t.Error(err)
					return
				}
				if _, err := fabric.Do(q, transfer(wire.OpRead, i*128, 128), in); err != nil || !bytes.Equal(in, out) {
					r.t.Errorf("queue %d: data changed, or %v", i, err)
					return
				}
			}
		})
	}
	wg.Wait()
}

func (r *rig) refused() {
	r.listen(func(fabric.Conn) fabric.Handler { return nil })
	q, err := r.tr.Dial(context.Background(), fabric.DialParams{Addr: r.l.Addr(), Depth: 1, Timeout: patience})
	if err == nil {
		_ = q.Close()
		r.t.Error("a refused connection was opened")
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(fmt.Errorf("no longer wanted"))
	if q, err := r.tr.Dial(ctx, fabric.DialParams{Addr: r.l.Addr(), Depth: 1}); err == nil {
		_ = q.Close()
		r.t.Error("dialled although the context had ended")
	}
}

func (r *rig) addresses() {
	seen := make(chan fabric.Conn, 1)
	r.listen(func(c fabric.Conn) fabric.Handler {
		seen <- c
		return r.disk.Accept(c)
	})
	r.dial(1, patience)
	c := <-seen
	if c.Local() != r.l.Addr() {
		r.t.Errorf("local address %s, want %s", c.Local(), r.l.Addr())
	}
	if c.Remote() == "" || c.Transport() != r.tr.Name() {
		r.t.Errorf("remote %q over %q", c.Remote(), c.Transport())
	}
}
