package tcp

import (
	"math"
	"time"

	"weft/internal/nvme/fabric"
	"weft/internal/nvme/rawsock"
)

// newPolledOutbox sends on a socket when the poller calls push. wake, if any,
// tells the poller that there is something to push.
func newPolledOutbox(sock *rawsock.Socket, pool *fabric.Pool, wake func()) *outbox {
	o := &outbox{
		sock: sock, pool: pool, wake: wake,
		fill: &batch{most: copyMaxPoll}, send: &batch{most: copyMaxPoll},
	}
	o.rest.L = &o.mu
	return o
}

// unhold ends hold where push follows.
func (o *outbox) unhold() {
	o.mu.Lock()
	o.held = false
	if o.fill.size > 0 {
		o.unsent.Store(true)
	}
	o.mu.Unlock()
}

// push sends as much as the socket takes, at most so many bytes, many pieces in one
// call, and reports whether that was anything. What is shared is released, sent or
// not. Only the poller calls it.
func (o *outbox) push(most int) (moved bool, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.unsent.Store(false)
	o.deaf = false
	for o.err == nil && o.next() {
		v, want := cut(o.vec[:o.send.vector(o.vec[:])], most)
		o.mu.Unlock()
		n, err := o.sock.Write(v...)
		o.mu.Lock()
		if err != nil {
			o.broken(err)
			break
		}
		o.send.wrote(n)
		o.sending = o.send.size
		o.sent += uint64(n)
		o.fit(o.sock.FD(), n)
		moved = moved || n > 0
		most -= n
		if full := n < want; full || most == 0 && o.send.size+o.fill.size > 0 {
			o.unsent.Store(true)
			o.deaf = full
			o.ownShared(o.send)
			o.ownShared(o.fill)
			break
		}
	}
	o.settled()
	return moved, o.err
}

// cut shortens pieces to so many bytes, and says how many they are then.
func cut(v [][]byte, most int) ([][]byte, int) {
	n := 0
	for i, part := range v {
		if len(part) >= most-n {
			v[i] = part[:most-n]
			return v[:i+1], most
		}
		n += len(part)
	}
	return v, n
}

// drained pushes until everything was sent, for at most a time; 0 is no limit.
func (o *outbox) drained(limit time.Duration) {
	for start := time.Now(); ; rawsock.Yield() {
		if _, err := o.push(math.MaxInt); err != nil || !o.unsent.Load() || limit > 0 && time.Since(start) > limit {
			return
		}
	}
}
