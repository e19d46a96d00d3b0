package initiator

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"weft/internal/nvme/fabric"
	"weft/internal/nvme/wire"
)

// Op is what a load does.
type Op uint8

// The operations.
const (
	Read  Op = wire.OpRead
	Write Op = wire.OpWrite
	Flush Op = wire.OpFlush
)

// String is the operation's name.
func (o Op) String() string {
	return cmp.Or(map[Op]string{
		Read:  "read",
		Write: "write",
		Flush: "flush",
	}[o], fmt.Sprintf("operation %d", uint8(o)))
}

// LoadOptions describe a load.
type LoadOptions struct {
	Namespace Namespace
	Op        Op     // a Write overwrites what is there
	Size      int    // bytes of each command, a multiple of the block size; unused by Flush
	Depth     int    // commands outstanding, at most the queue's depth
	Samples   int    // commands to measure
	Warmup    int    // commands before those
	Random    bool   // addresses at random, else one after the other
	Span      uint64 // bytes from the beginning of the namespace that are used; 0 is all
	Seed      uint64 // of the random addresses
}

// LoadResult is what a load has done, without the warm-up.
type LoadResult struct {
	Done    int           // commands that succeeded and were recorded
	Failed  int           // commands that the controller has refused
	First   error         // the first refusal
	Bytes   uint64        // moved by Done
	Elapsed time.Duration // from the first measured submission to the last completion
}

// Load keeps Depth commands outstanding on a queue until Samples have been
// measured. record is called with the time from submission to completion of
// each command that succeeded, from the caller's goroutine. Refused commands
// are counted; an error is one of the queue, of the options, or the
// context's. The queue is free of commands when Load returns without an error
// of the queue.
func Load(ctx context.Context, q *Queue, o LoadOptions, record func(time.Duration)) (LoadResult, error) {
	l, err := newLoad(q, o, record)
	if err != nil {
		return LoadResult{}, fmt.Errorf("%s: load: %w", q.addr, err)
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	stop := context.AfterFunc(ctx, func() { l.stop.Store(true) })
	defer stop()
	if err := l.run(); err != nil {
		return l.result, err
	}
	return l.result, context.Cause(ctx)
}

// load is a load in progress.
type load struct {
	q      fabric.Queue
	o      LoadOptions
	record func(time.Duration)
	stop   atomic.Bool

	places  uint64 // of Size bytes in the span
	blocks  int    // of one command
	next    uint64 // place, if not at random
	rng     *rand.PCG
	cmd     wire.Command
	slab    []byte
	started []time.Time // by tag
	counted []bool      // by tag: not of the warm-up
	done    []wire.Completion

	submitted   int // the warm-up included
	outstanding int
	begin       time.Time
	result      LoadResult
}

func newLoad(q *Queue, o LoadOptions, record func(time.Duration)) (*load, error) {
	switch {
	case o.Op != Read && o.Op != Write && o.Op != Flush:
		return nil, fmt.Errorf("%v is not a load", o.Op)
	case o.Depth < 1 || o.Depth > q.depth:
		return nil, fmt.Errorf("depth %d, want 1 to %d", o.Depth, q.depth)
	case o.Samples < 0 || o.Warmup < 0:
		return nil, fmt.Errorf("%d samples after %d", o.Samples, o.Warmup)
	}
	if o.Span == 0 {
		o.Span = o.Namespace.Size()
	}
	l := &load{
		q: q.q, o: o, record: record, rng: rand.NewPCG(o.Seed, 0),
		started: make([]time.Time, o.Depth), counted: make([]bool, o.Depth), done: make([]wire.Completion, o.Depth),
	}
	if o.Op == Flush {
		l.o.Size = 0
		return l, nil
	}
	bs := o.Namespace.BlockSize
	switch {
	case bs == 0 || o.Size < 1 || o.Size%bs != 0:
		return nil, fmt.Errorf("commands of %d bytes, want a multiple of %d", o.Size, bs)
	case q.most != 0 && o.Size > q.most || o.Size/bs > 1<<16:
		return nil, fmt.Errorf("commands of %d bytes, want at most %d", o.Size, q.most)
	case o.Span > o.Namespace.Size() || o.Span < uint64(o.Size):
		return nil, fmt.Errorf("span of %d bytes of a namespace of %d", o.Span, o.Namespace.Size())
	}
	l.blocks = o.Size / bs
	l.places = o.Span / uint64(o.Size)
	l.slab = make([]byte, o.Depth*o.Size)
	if o.Op == Write {
		for i := range l.slab {
			l.slab[i] = byte(l.rng.Uint64())
		}
	}
	return l, nil
}

func (l *load) run() error {
	for tag := 0; tag < l.o.Depth && l.more(); tag++ {
		if err := l.submit(uint16(tag)); err != nil {
			return err
		}
	}
	for l.outstanding > 0 {
		n, err := l.q.Wait(l.done)
		if err != nil {
			return err
		}
		now := time.Now()
		for i := range l.done[:n] {
			c := &l.done[i]
			if int(c.CID) >= l.o.Depth {
				return fmt.Errorf("completion of command %d on a queue that should be idle", c.CID)
			}
			l.completed(c, now)
			if l.more() {
				if err := l.submit(c.CID); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func (l *load) more() bool { return l.submitted < l.o.Warmup+l.o.Samples && !l.stop.Load() }

func (l *load) submit(tag uint16) error {
	l.cmd = wire.Command{Opcode: uint8(l.o.Op), NSID: l.o.Namespace.ID}
	var buf fabric.Buffer
	if l.o.Size > 0 {
		l.cmd.SetBlocks(l.place()*uint64(l.blocks), l.blocks)
		buf.Bytes = l.slab[int(tag)*l.o.Size:][:l.o.Size]
	}
	now := time.Now()
	if l.counted[tag] = l.submitted >= l.o.Warmup; l.counted[tag] && l.begin.IsZero() {
		l.begin = now
	}
	l.started[tag] = now
	l.submitted++
	l.outstanding++
	return l.q.Submit(tag, &l.cmd, buf)
}

// place chooses where the next command goes.
func (l *load) place() uint64 {
	if !l.o.Random {
		p := l.next
		l.next = (l.next + 1) % l.places
		return p
	}
	// Leaving out the first few values makes what remains a whole multiple of
	// places: all places are equally likely.
	for least := -l.places % l.places; ; {
		if v := l.rng.Uint64(); v >= least {
			return v % l.places
		}
	}
}

func (l *load) completed(c *wire.Completion, now time.Time) {
	l.outstanding--
	if !l.counted[c.CID] {
		return
	}
	l.result.Elapsed = now.Sub(l.begin)
	if err := c.Status.Err(); err != nil {
		l.result.Failed++
		if l.result.First == nil {
			l.result.First = err
		}
		return
	}
	l.result.Done++
	l.result.Bytes += uint64(l.o.Size)
	l.record(now.Sub(l.started[c.CID]))
}
