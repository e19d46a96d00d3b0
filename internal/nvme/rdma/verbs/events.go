//go:build linux && (amd64 || arm64)

package verbs

import "golang.org/x/sys/unix"

// mostEvents is how many asynchronous events are taken at once: who looks for
// them has other things to do.
const mostEvents = 64

// hush has asynchronous events be asked for without ever blocking.
func (d *domain) hush() error { return unix.SetNonblock(int(half(d.ctx, contextAsyncFD)), true) }

// join has a pair told what concerns it, until leave.
func (d *domain) join(p *pair) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.pairs == nil {
		d.pairs = map[*pair]bool{}
	}
	d.pairs[p] = true
}

func (d *domain) leave(p *pair) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.pairs, p)
}

// listen takes what the device has told, and tells the pairs that it concerns.
// Whoever calls it has a link over the device, which keeps it open. An event is
// acknowledged at once: until then its queue cannot be destroyed.
func (d *domain) listen() {
	d.mu.Lock()
	defer d.mu.Unlock()
	b := stable(asyncSize)
	for range mostEvents {
		if r, _ := d.l.try(d.l.ibv.Ibv_get_async_event, d.ctx, address(b)); int32(r) != 0 {
			return // no more, or the device is gone: the connection manager tells
		}
		var e asyncEvent
		e.get(b)
		call(d.l.ibv.Ibv_ack_async_event, address(b))
		if e.kind == asyncDeviceFatal {
			d.l.forget(d)
		}
		for p := range d.pairs {
			if err := e.ends(d.limits.Device, p.qp, p.cq); err != nil {
				p.tell(err)
			}
		}
	}
}

// tell ends a pair: who waits looks once more for completions, and has the
// error the next time.
func (p *pair) tell(err error) {
	if p.fault.CompareAndSwap(nil, &err) {
		p.k.c.stir()
	}
}
