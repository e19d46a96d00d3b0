//go:build linux && (amd64 || arm64)

package verbs

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

const doneBatch = 64 // completions that are fetched in one call

// hub is a completion queue, and what is watched beside it.
type hub struct {
	d      *domain
	waiter *waiter
	events uintptr // ibv_comp_channel
	cq     uintptr

	// What every command calls: functions of the device, and one that takes an event.
	poll, notify, event direct

	dones []byte // for completions, and for an event

	// Of who waits. Functions are made once, as whoever waits often would make them each time.
	looks  func(epoll uintptr) bool // look
	glance func(epoll uintptr)      // look, where nobody sleeps
	seen   bool                     // by glance
	failed error                    // of the last look
	slept  bool                     // since Wait was called
	taken  uint32                   // events of completions, not yet acknowledged
	woke   [8]unix.EpollEvent       // what it is woken for

	mu    sync.Mutex // of what follows, and held while a pair's channel is used
	pairs map[int32]*pair
	next  int32 // name of a pair
}

// Hub makes a hub. The vectors of the device, which are who interrupts which
// processor, take turns.
func (d *domain) Hub(room int) (_ Hub, err error) {
	l, device := d.l, d.limits.Device
	if d.limits.Dones > 0 && room > d.limits.Dones {
		return nil, fmt.Errorf("%d completions are more than %s can keep", room, device)
	}
	h := &hub{d: d, dones: stable(doneBatch*doneSize + 16), pairs: map[int32]*pair{}}
	defer func() {
		if err != nil {
			err = errors.Join(err, h.Close())
		}
	}()
	if h.waiter, err = newWaiter(); err != nil {
		return nil, fmt.Errorf("wait for events of %s: %w", device, err)
	}
	if h.events, err = l.pointer(l.ibv.Ibv_create_comp_channel, d.ctx); err != nil {
		return nil, fmt.Errorf("completion channel on %s: %w", device, err)
	}
	fd := int(half(h.events, channelFD))
	err = errors.Join(unix.SetNonblock(fd, true), h.waiter.watch(fd, wokeDone, 0), h.waiter.watch(int(half(d.ctx, contextAsyncFD)), wokeDevice, 0))
	if err != nil {
		return nil, fmt.Errorf("wait for events of %s: %w", device, err)
	}
	vector := uintptr(d.hubbed.Add(1)-1) % uintptr(max(half(d.ctx, contextVectors), 1))
	if h.cq, err = l.pointer(l.ibv.Ibv_create_cq, d.ctx, uintptr(room), 0, h.events, vector); err != nil {
		return nil, unpinned(fmt.Errorf("completion queue of %d on %s: %w", room, device, err))
	}
	event := address(h.dones) + doneBatch*doneSize
	h.poll = direct{fn: word(d.ctx, opPollCQ), args: [3]uintptr{h.cq, 0, address(h.dones)}}
	h.notify = direct{fn: word(d.ctx, opNotifyCQ), args: [3]uintptr{h.cq, 0}}
	h.event = direct{fn: l.ibv.Ibv_get_cq_event, args: [3]uintptr{h.events, event, event + 8}}
	h.looks, h.glance = h.look, func(epoll uintptr) { h.seen = h.look(epoll) }
	d.join(h)
	return h, nil
}

// Close is for what is there, too, of a hub that could not be made.
func (h *hub) Close() error {
	h.d.leave(h)
	var errs []error
	if h.cq != 0 {
		call(h.d.l.ibv.Ibv_ack_cq_events, h.cq, uintptr(h.taken)) // else the queue waits for that
		errs = append(errs, code(h.d.l.ibv.Ibv_destroy_cq, h.cq))
		h.cq = 0
	}
	if h.events != 0 {
		errs = append(errs, code(h.d.l.ibv.Ibv_destroy_comp_channel, h.events))
		h.events = 0
	}
	if h.waiter != nil {
		h.waiter.close()
	}
	return errors.Join(errs...)
}

// join has a pair told what happens to its connection, until part.
func (h *hub) join(p *pair) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.next++
	p.name = h.next
	h.pairs[p.name] = p
	return h.waiter.watch(p.k.c.fd(), wokeCM, p.name)
}

// part is before the channel is closed, which takes it from those watched.
func (h *hub) part(p *pair) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.pairs, p.name)
}

var errPoll = errors.New("the completion queue is broken")

// Poll fetches completions.
func (h *hub) Poll(done []Done) (int, error) {
	most := min(len(done), doneBatch)
	h.poll.args[1] = uintptr(most)
	n := int(int32(h.poll.do()))
	if n < 0 || n > most {
		return 0, fmt.Errorf("poll %s: %w", h.d.limits.Device, errPoll)
	}
	for i := range done[:n] {
		done[i].get(h.dones[i*doneSize:])
	}
	return n, nil
}

// Arm asks for an event.
func (h *hub) Arm() error {
	if err := h.notify.code(); err != nil {
		return fmt.Errorf("arm the completion queue: %w", err)
	}
	return nil
}

// Wait waits for completions and events. Calls of the system are what costs who
// has one command under way: it makes one before it sleeps and one when it wakes
// up, besides those of Go that put the goroutine to sleep.
func (h *hub) Wait(deadline time.Time) error {
	h.failed, h.slept, h.seen = nil, false, false
	var err error
	if !deadline.IsZero() && !time.Now().Before(deadline) {
		err = h.waiter.raw.Control(h.glance)
		switch {
		case h.waiter.news.Swap(false):
			err, h.waiter.disturbed = ErrNews, true
		case err == nil && !h.seen:
			err = os.ErrDeadlineExceeded
		}
	} else {
		err = h.waiter.wait(deadline, h.looks)
	}
	if h.failed != nil {
		return errors.Join(err, h.failed)
	}
	return err
}

// Wake ends Wait.
func (h *hub) Wake() { h.waiter.wake() }

// look takes what has woken the waiter, and reports whether that is something to
// return for.
func (h *hub) look(epoll uintptr) (woken bool) {
	if h.slept && h.takeEvent() {
		return true // should there be more than that, the next wait begins with it
	}
	h.slept = true
	n, _, errno := syscall.RawSyscall6(syscall.SYS_EPOLL_PWAIT, epoll, uintptr(unsafe.Pointer(&h.woke)), uintptr(len(h.woke)), 0, 0, 0) // as the calls of a direct
	if errno != 0 {
		if errno != syscall.EINTR {
			h.failed = errno
		}
		return h.failed != nil
	}
	for _, e := range h.woke[:n] {
		switch e.Fd {
		case wokeCM:
			h.happened(e.Pad)
		case wokeDevice:
			h.d.listen()
		default:
			woken = h.takeEvent() || woken
		}
	}
	return woken || h.waiter.news.Load()
}

// happened sees what has happened to a connection.
func (h *hub) happened(name int32) {
	h.mu.Lock()
	defer h.mu.Unlock()
	p := h.pairs[name]
	if p == nil {
		return // it was closed meanwhile
	}
	if err := p.k.happened(); err != nil {
		p.end(err)
	}
}

// heard tells the pairs that it concerns what the device has told.
func (h *hub) heard(e asyncEvent) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, p := range h.pairs {
		if err := e.ends(h.d.limits.Device, p.qp, h.cq); err != nil {
			p.end(err)
		}
	}
}

// takeEvent takes one event from the completion channel: Arm asks for no more.
// Should there be another, the next wait is a short one.
func (h *hub) takeEvent() bool {
	if int32(h.event.do()) != 0 {
		return false
	}
	h.taken++
	return true
}
