//go:build linux && (amd64 || arm64)

package verbs

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// How many works or completions go over in one call.
const (
	postBatch = 64
	doneBatch = 64
)

// pair is the queue pair of a link, and its one completion queue.
type pair struct {
	k      *link
	events uintptr // ibv_comp_channel
	cq, qp uintptr
	inline int
	fault  atomic.Pointer[error] // what the device has told

	// What every command calls: functions of the device, and one that takes an event.
	post, take, poll, notify, event direct

	// Of who waits.
	looks  func(epoll uintptr) bool // look: made once, as whoever waits often would make it each time
	failed error                    // of the last look
	slept  bool                     // since Wait was called
	taken  uint32                   // events of completions, not yet acknowledged
	woke   [3]unix.EpollEvent       // what it is woken for

	sending sync.Mutex
	sends   []byte // for the works of one call, and the place of the one that failed
	recvs   []byte // the same
	dones   []byte // for completions
}

// Open makes the queues.
func (k *link) Open(q Queue) (Pair, error) {
	d, l := k.d, k.l
	limits := d.limits
	if most := max(q.Sends, q.Receives); limits.Works > 0 && most > limits.Works || limits.Dones > 0 && q.Sends+q.Receives > limits.Dones {
		return nil, fmt.Errorf("a queue pair of %d and %d works is more than %s can do", q.Sends, q.Receives, limits.Device)
	}
	p := &pair{
		k: k, sends: stable(postBatch*sendStride + 8), recvs: stable(postBatch*recvStride + 8), dones: stable(doneBatch*doneSize + 16),
	}
	var err error
	if p.events, err = l.pointer(l.ibv.Ibv_create_comp_channel, d.ctx); err != nil {
		return nil, fmt.Errorf("completion channel on %s: %w", limits.Device, err)
	}
	if err = errors.Join(k.c.watch(int(half(p.events, channelFD)), wokeDone), k.c.watch(int(half(d.ctx, contextAsyncFD)), wokeDevice)); err != nil {
		return nil, errors.Join(fmt.Errorf("wait for events of %s: %w", limits.Device, err), p.destroy())
	}
	if p.cq, err = l.pointer(l.ibv.Ibv_create_cq, d.ctx, uintptr(q.Sends+q.Receives), 0, p.events, 0); err != nil {
		return nil, errors.Join(unpinned(fmt.Errorf("completion queue of %d on %s: %w", q.Sends+q.Receives, limits.Device, err)), p.destroy())
	}
	if err = p.create(q); err != nil {
		return nil, errors.Join(err, p.destroy())
	}
	k.mu.Lock()
	k.pair = p
	k.mu.Unlock()
	d.join(p)
	return p, nil
}

// create makes the queue pair, without room for inline data if there is none.
func (p *pair) create(q Queue) error {
	k, d := p.k, p.k.d
	init := stable(initSize)
	var err error
	for _, inline := range []int{q.Inline, 0} {
		q.Inline = inline
		d.initQP(init, p.cq, q)
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
	ctx, event := d.ctx, address(p.dones)+doneBatch*doneSize
	p.post = direct{fn: word(ctx, opPostSend), args: [3]uintptr{p.qp, address(p.sends), address(p.sends) + postBatch*sendStride}}
	p.take = direct{fn: word(ctx, opPostRecv), args: [3]uintptr{p.qp, address(p.recvs), address(p.recvs) + postBatch*recvStride}}
	p.poll = direct{fn: word(ctx, opPollCQ), args: [3]uintptr{p.cq, 0, address(p.dones)}}
	p.notify = direct{fn: word(ctx, opNotifyCQ), args: [3]uintptr{p.cq, 0}}
	p.event = direct{fn: k.l.ibv.Ibv_get_cq_event, args: [3]uintptr{p.events, event, event + 8}}
	p.looks = p.look
	if err := d.checkQP(p.qp, p.cq); err != nil {
		call(k.l.cm.Rdma_destroy_qp, k.id)
		return err
	}
	return nil
}

// destroy is for what is left when the queue pair is gone.
func (p *pair) destroy() error {
	var errs []error
	if p.cq != 0 {
		call(p.k.l.ibv.Ibv_ack_cq_events, p.cq, uintptr(p.taken)) // else the queue waits for that
		errs = append(errs, code(p.k.l.ibv.Ibv_destroy_cq, p.cq))
	}
	errs = append(errs, code(p.k.l.ibv.Ibv_destroy_comp_channel, p.events))
	return errors.Join(errs...)
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

var errPoll = errors.New("the completion queue is broken")

// Poll fetches completions.
func (p *pair) Poll(done []Done) (int, error) {
	most := min(len(done), doneBatch)
	p.poll.args[1] = uintptr(most)
	n := int(int32(p.poll.do()))
	if n < 0 || n > most {
		return 0, fmt.Errorf("poll %s: %w", p.k.d.limits.Device, errPoll)
	}
	for i := range done[:n] {
		done[i].get(p.dones[i*doneSize:])
	}
	return n, nil
}

// Arm asks for an event.
func (p *pair) Arm() error {
	if err := p.notify.code(); err != nil {
		return fmt.Errorf("arm the completion queue: %w", err)
	}
	return nil
}

// Wait waits for completions and events. Calls of the system are what costs who
// has one command under way: it makes one before it sleeps and one when it wakes
// up, besides those of Go that put the goroutine to sleep.
func (p *pair) Wait(deadline time.Time) error {
	over := !deadline.IsZero() && !time.Now().Before(deadline)
	if over { // else look does
		if err := p.k.happened(); err != nil {
			return err
		}
		p.k.d.listen()
	}
	switch fault := p.fault.Load(); {
	case fault != nil:
		return *fault
	case over && p.k.c.interrupted.Load():
		return ErrInterrupted
	case over:
		return os.ErrDeadlineExceeded
	}
	p.failed, p.slept = nil, false
	err := p.k.c.wait(deadline, p.looks)
	if p.failed == nil && errors.Is(err, os.ErrDeadlineExceeded) && p.fault.Load() != nil {
		return nil
	}
	if p.failed == nil {
		return err
	}
	return errors.Join(err, p.failed)
}

// look takes what has woken the waiter, and reports whether that is something to
// return for.
func (p *pair) look(epoll uintptr) (woken bool) {
	if p.slept && p.takeEvent() {
		return true // should there be more than that, the next wait begins with it
	}
	p.slept = true
	n, _, errno := syscall.RawSyscall6(syscall.SYS_EPOLL_PWAIT, epoll, uintptr(unsafe.Pointer(&p.woke)), uintptr(len(p.woke)), 0, 0, 0) // as the calls of a direct
	if errno != 0 {
		if errno != syscall.EINTR {
			p.failed = errno
		}
		return p.failed != nil
	}
	for _, e := range p.woke[:n] {
		switch e.Fd {
		case wokeCM:
			if p.failed = p.k.happened(); p.failed != nil {
				return true
			}
		case wokeDevice:
			p.k.d.listen()
		default:
			woken = p.takeEvent() || woken
		}
	}
	return woken || p.fault.Load() != nil
}

// takeEvent takes one event from the completion channel: Arm asks for no more.
// Should there be another, the next wait is a short one.
func (p *pair) takeEvent() bool {
	if int32(p.event.do()) != 0 {
		return false
	}
	p.taken++
	return true
}

// Interrupt ends Wait.
func (p *pair) Interrupt() { p.k.c.interrupt() }
