//go:build linux && (amd64 || arm64)

package verbs

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"syscall"
)

const postBatch = 64 // works that go over in one call

// pair is the queue pair of a link.
type pair struct {
	k      *link
	h      *hub
	name   int32 // in the hub
	qp     uintptr
	inline int
	ended  atomic.Pointer[error]

	post, take direct // what every command calls: functions of the device

	sending sync.Mutex
	sends   []byte // for the works of one call, and the place of the one that failed
	recvs   []byte // the same
}

// Open makes the queues.
func (k *link) Open(to Hub, q Queue) (Pair, error) {
	limits := k.d.limits
	h, ok := to.(*hub)
	if !ok || h.d != k.d {
		return nil, fmt.Errorf("the completions of a queue pair on %s belong into a hub of that", limits.Device)
	}
	if most := max(q.Sends, q.Receives); limits.Works > 0 && most > limits.Works {
		return nil, fmt.Errorf("a queue pair of %d and %d works is more than %s can do", q.Sends, q.Receives, limits.Device)
	}
	p := &pair{k: k, h: h, sends: stable(postBatch*sendStride + 8), recvs: stable(postBatch*recvStride + 8)}
	if err := p.create(q); err != nil {
		return nil, err
	}
	k.mu.Lock()
	k.pair = p
	k.mu.Unlock()
	if err := h.join(p); err != nil {
		return nil, fmt.Errorf("wait for events of %s: %w", limits.Device, err)
	}
	return p, nil
}

// create makes the queue pair, without room for inline data if there is none.
func (p *pair) create(q Queue) error {
	k, d := p.k, p.k.d
	init := stable(initSize)
	var err error
	for _, inline := range []int{q.Inline, 0} {
		q.Inline = inline
		d.initQP(init, p.h.cq, q)
		err = k.l.zero(k.l.cm.Rdma_create_qp, k.id, d.pd, address(init))
		if err == nil || !errors.Is(err, syscall.EINVAL) {
			break
		}
	}
	if err != nil {
		return unpinned(fmt.Errorf("queue pair of %d and %d works on %s: %w", q.Sends, q.Receives, d.limits.Device, err))
	}
	p.inline = int(le.Uint32(init[initInline:]))
	p.qp = word(k.id, idQP)
	p.post = direct{fn: word(d.ctx, opPostSend), args: [3]uintptr{p.qp, address(p.sends), address(p.sends) + postBatch*sendStride}}
	p.take = direct{fn: word(d.ctx, opPostRecv), args: [3]uintptr{p.qp, address(p.recvs), address(p.recvs) + postBatch*recvStride}}
	if err := d.checkQP(p.qp, p.h.cq); err != nil {
		call(k.l.cm.Rdma_destroy_qp, k.id)
		return err
	}
	return nil
}

// Send posts works.
func (p *pair) Send(works []Work) error {
	p.sending.Lock()
	defer p.sending.Unlock()
	for len(works) > 0 {
		n := min(len(works), postBatch)
		for i := range works[:n] {
			w := &works[i]
			if int(w.Local.Len) > p.inline || w.Op == OpSendInvalidate && p.k.d.limits.IWARP { // Soft-iWARP cannot do both
				w.Flags &^= Inline
			}
		}
		putSend(p.sends, uint64(address(p.sends)), works[:n])
		if err := p.post.code(); err != nil {
			return fmt.Errorf("post to %s: %w", p.k.d.limits.Device, err)
		}
		works = works[n:]
	}
	return nil
}

// Receive posts memory.
func (p *pair) Receive(works []Work) error {
	for len(works) > 0 {
		n := min(len(works), postBatch)
		putReceive(p.recvs, uint64(address(p.recvs)), works[:n])
		if err := p.take.code(); err != nil {
			return fmt.Errorf("post to %s: %w", p.k.d.limits.Device, err)
		}
		works = works[n:]
	}
	return nil
}

// end is for who sees why the connection has ended.
func (p *pair) end(err error) {
	if p.ended.CompareAndSwap(nil, &err) {
		p.h.waiter.wake()
	}
}

// Ended is what end was told.
func (p *pair) Ended() error {
	if err := p.ended.Load(); err != nil {
		return *err
	}
	return nil
}
