package perf

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"time"
	"unsafe"

	"weft/internal/nvme/rawsock"
	"weft/internal/nvme/rdma/verbs"
)

// end is one end of a connection, with memory: what is sent from, and where
// something arrives.
type end struct {
	ctx  context.Context
	s    Shape
	link verbs.Link
	hub  verbs.Hub
	pair verbs.Pair
	mem  []byte
	mr   *verbs.Memory
	peer memory

	done   [64]verbs.Done
	works  [1]verbs.Work
	turns  int
	yields int // of so many turns one offers the processor to others
	given  int // messages that the peer may send anew, as it was told
	sent   int // of ours that have completed
	landed int // of the peer's that were received
}

const line = 64 // bytes that nothing else shares

// A word that a peer writes lies behind where messages arrive: how many of ours
// it has received.
func (e *end) word() *uint32 { return (*uint32)(unsafe.Pointer(&e.mem[e.arrive()+e.s.Size])) }

// arrive is where something arrives: so that its last byte is the last of a
// word, which is looked at.
func (e *end) arrive() int {
	half := (e.s.Size + 2*line - 1) / line * line
	return half + line - e.s.Size%4
}

// newEnd makes queues and memory. The link is the end's.
func newEnd(ctx context.Context, link verbs.Link, s Shape) (*end, error) {
	e := &end{ctx: ctx, s: s, link: link, yields: yieldEvery}
	if runtime.NumCPU() == 1 {
		e.yields = 1 // else software that moves the data comes to it late
	}
	e.mem = make([]byte, e.arrive()+s.Size+line)
	var err error
	room := s.room()
	if e.hub, err = link.Domain().Hub(room.Sends + room.Receives); err == nil {
		e.pair, err = link.Open(e.hub, room)
	}
	if err == nil {
		e.mr, err = link.Domain().Register(e.mem, verbs.LocalWrite|verbs.RemoteRead|verbs.RemoteWrite)
	}
	for range room.Receives {
		if err == nil && s.Op == Send {
			err = e.receive()
		}
	}
	if err != nil {
		return nil, errors.Join(err, e.close())
	}
	return e, nil
}

func (e *end) close() error {
	err := e.link.Close()
	if e.hub != nil {
		err = errors.Join(err, e.hub.Close())
	}
	if e.mr != nil {
		err = errors.Join(err, e.mr.Close())
	}
	return err
}

// own is the memory that the peer may use.
func (e *end) own() memory { return memory{e.mr.Addr + uint64(e.arrive()), e.mr.Remote} }

func (e *end) piece(at int) verbs.Piece {
	return verbs.Piece{Addr: e.mr.Addr + uint64(at), Len: uint32(e.s.Size), Key: e.mr.Local}
}

const receiving = 1 << 32 // in the id of a work

func (e *end) receive() error {
	return e.pair.Receive([]verbs.Work{{ID: receiving, Local: e.piece(e.arrive())}})
}

// post begins one operation.
func (e *end) post() error {
	w := &e.works[0]
	*w = verbs.Work{Op: verbs.OpSend, Flags: verbs.Signaled, Local: e.piece(0)}
	switch e.s.Op {
	case Write:
		w.Op, w.Remote, w.Key = verbs.OpWrite, e.peer.addr, e.peer.key
	case Read:
		w.Op, w.Remote, w.Key = verbs.OpRead, e.peer.addr, e.peer.key
		w.Local = e.piece(e.arrive())
	}
	if e.s.Size <= verbs.MaxInline && e.s.Op != Read {
		w.Flags |= verbs.Inline
	}
	return e.pair.Send(e.works[:])
}

// counts says that who sends has to be told what was received. A message that
// finds nothing to receive it waits with InfiniBand and RoCE, and is not done
// before; with iWARP it is done when it has left, and ends the connection.
func (e *end) counts() bool {
	return e.s.Bandwidth && e.s.Op == Send && e.link.Domain().Limits().IWARP
}

// may says that the peer can receive one more message than those posted.
func (e *end) may(posted int) bool {
	return !e.counts() || int32(uint32(posted)-load(e.word())) < int32(e.s.Depth)
}

// tell tells the peer what was received, when that is half of what it may send.
func (e *end) tell() error {
	if !e.counts() || e.landed-e.given < (e.s.Depth+1)/2 {
		return nil
	}
	e.given = e.landed
	le.PutUint32(e.mem, uint32(e.landed))
	e.works[0] = verbs.Work{
		Op: verbs.OpWrite, Flags: verbs.Signaled | verbs.Inline, Local: verbs.Piece{Addr: e.mr.Addr, Len: 4, Key: e.mr.Local},
		Remote: e.peer.addr + uint64(e.s.Size), Key: e.peer.key,
	}
	return e.pair.Send(e.works[:])
}

// look takes what has completed.
func (e *end) look() error {
	n, err := e.hub.Poll(e.done[:])
	if err != nil {
		return err
	}
	for i := range e.done[:n] {
		d := &e.done[i]
		if err := d.Err(); err != nil {
			return e.why(err)
		}
		if d.ID != receiving {
			e.sent++
			continue
		}
		if d.Bytes != e.s.Size {
			return fmt.Errorf("%d bytes were received, want %d", d.Bytes, e.s.Size)
		}
		e.landed++
		if err := e.receive(); err != nil {
			return err
		}
	}
	if err := e.tell(); err != nil {
		return err
	}
	return e.alive(n)
}

// How many looks without anything lie between offers of the processor to
// others, who may be the ones that move the data, and between looks at the
// connection; and how many looks at memory lie between those at what else has
// completed, each of which is a call of C.
const (
	yieldEvery  = 64
	lookEvery   = 1024
	glanceEvery = 16
)

// alive looks once in a while whether to go on.
func (e *end) alive(n int) error {
	if n > 0 {
		return nil
	}
	e.turns++
	if e.turns%e.yields == 0 {
		rawsock.Yield()
	}
	if e.turns%lookEvery != 0 {
		return nil
	}
	if e.ctx.Err() != nil {
		return context.Cause(e.ctx)
	}
	return e.wait(time.Unix(1, 0))
}

// wait waits for something to happen; an error is the end of the connection.
func (e *end) wait(deadline time.Time) error {
	err := e.hub.Wait(deadline)
	if why := e.pair.Ended(); why != nil {
		return why
	}
	if errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, verbs.ErrNews) {
		return nil
	}
	return err
}

// why prefers the end of the connection over its effect.
func (e *end) why(err error) error {
	if w := e.wait(time.Unix(1, 0)); w != nil {
		return w
	}
	return err
}

// until looks until something is so.
func (e *end) until(done func() bool) error {
	for !done() {
		if err := e.look(); err != nil {
			return err
		}
	}
	return nil
}

// mark has the last byte of what is sent tell n, and written waits for one from
// the peer that does.
func (e *end) mark(n int) { e.mem[e.s.Size-1] = byte(n) }

func (e *end) written(n int) error {
	last := (*uint32)(unsafe.Pointer(&e.mem[e.arrive()+e.s.Size-4]))
	for turns := 1; byte(load(last)>>24) != byte(n); turns++ {
		if turns%glanceEvery == 0 {
			if err := e.look(); err != nil {
				return err
			}
		} else if turns%e.yields == 0 {
			rawsock.Yield()
		}
	}
	return nil
}

// load reads a word that the hardware writes behind the back of Go: anew each
// time.
//
//go:noinline
//go:norace
func load(p *uint32) uint32 { return *p }
