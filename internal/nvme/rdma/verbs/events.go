//go:build linux && (amd64 || arm64)

package verbs

import "golang.org/x/sys/unix"

// mostEvents is how many asynchronous events are taken at once: who looks for
// them has other things to do.
const mostEvents = 64

// hush has asynchronous events be asked for without ever blocking.
func (d *domain) hush() error { return unix.SetNonblock(int(half(d.ctx, contextAsyncFD)), true) }

// join has a hub told what concerns its pairs, until leave.
func (d *domain) join(h *hub) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.hubs == nil {
		d.hubs = map[*hub]bool{}
	}
	d.hubs[h] = true
}

func (d *domain) leave(h *hub) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.hubs, h)
}

// listen takes what the device has told, and tells the hubs.
// Whoever calls it has a hub on the device, which keeps it open. An event is
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
		for h := range d.hubs {
			h.heard(e)
		}
	}
}
