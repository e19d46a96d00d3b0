package tcp

import (
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

// push sends as much as the socket takes, many pieces in one call, and reports
// whether that was anything. What is shared is released, sent or not. Only the
// poller calls it.
func (o *outbox) push() (moved bool, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.unsent.Store(false)
	o.deaf = false
	for o.err == nil && o.next() {
		v := o.vec[:o.send.vector(o.vec[:])]
		want := 0
		for _, part := range v {
			want += len(part)
		}
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
		moved = moved || n > 0
		if n < want { // full
			o.unsent.Store(true)
			o.deaf = true
			o.ownShared(o.send)
			o.ownShared(o.fill)
			break
		}
	}
	o.settled()
	return moved, o.err
}

// drained pushes until everything was sent, for at most a time; 0 is no limit.
func (o *outbox) drained(limit time.Duration) {
	for start := time.Now(); ; rawsock.Yield() {
		if _, err := o.push(); err != nil || !o.unsent.Load() || limit > 0 && time.Since(start) > limit {
			return
		}
	}
}
