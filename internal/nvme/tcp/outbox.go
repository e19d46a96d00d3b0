package tcp

import (
	"net"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"weft/internal/nvme/fabric"
	"weft/internal/nvme/rawsock"
)

const (
	copyMax      = 8 << 10   // data up to this is copied behind its header
	copyMaxPoll  = 1 << 10   // the same where one call sends many pieces
	heldMost     = 64 << 10  // what hold keeps back at most
	heldMostPoll = 256 << 10 // the same: calls for less cost more per byte, there and with the peer
)

// An outbox sends what several goroutines have to say on one connection.
// Whoever flushes writes as much as the socket takes at once; only what it
// does not take is left to a goroutine that may block. So nobody who reads
// ever waits for a peer to read. On a polled socket only the poller sends, and
// there is no other goroutine: see push.
type outbox struct {
	conn    net.Conn
	raw     syscall.RawConn // nil where the connection cannot be written to without blocking
	timeout time.Duration   // for a blocked write; 0 is none
	pool    *fabric.Pool    // for copies of what is shared; nil where nothing is
	owed    atomic.Int64    // bytes of answers to commands that were begun

	mu   sync.Mutex
	rest sync.Cond // on mu: busy became false
	fill *batch    // what is added to
	send *batch    // what is being written; belongs to whoever set busy
	busy bool
	held bool
	deaf bool  // the peer has to read before anything more is sent
	err  error // nothing is sent any more

	sending int             // what of send is not yet known to be written
	account *fabric.Account // what is owed or added and not written; nil: unbounded
	full    atomic.Bool     // room has said no
	resume  func()          // tells who was told so that there is room again, or never will be

	turn *fabric.Turn  // in which the writer writes; nil: it need not have one
	kick chan struct{} // wakes the writer, which then owns busy
	done chan struct{} // the writer has ended

	try     writeTry // owned like send
	fitting fitting  // too
	tryFn   func(fd uintptr) bool

	sock   *rawsock.Socket // polled
	wake   func()          // tells the poller to push; nil if it always does
	unsent atomic.Bool     // there is something to push
	sent   uint64          // bytes so far; the poller's
	vec    [rawsock.MaxVector][]byte
}

// writeTry is the call of tryWrite in progress.
type writeTry struct {
	block bool
	again bool
	err   error
}

func newOutbox(conn net.Conn, timeout time.Duration, pool *fabric.Pool, turn *fabric.Turn) *outbox {
	o := &outbox{
		conn: conn, raw: rawOf(conn), timeout: timeout, pool: pool, turn: turn,
		fill: &batch{most: copyMax}, send: &batch{most: copyMax},
		kick: make(chan struct{}, 1), done: make(chan struct{}),
	}
	o.rest.L = &o.mu
	o.tryFn = o.tryWrite
	go o.writer()
	return o
}

// lock gives the batch to add to; unlock it soon.
func (o *outbox) lock() *batch {
	o.mu.Lock()
	return o.fill
}

func (o *outbox) unlock() {
	if o.err != nil {
		o.fill.drop()
	}
	o.settled()
	o.mu.Unlock()
}

// room reports whether one more command may be begun, and how many bytes were
// added of which none is being sent yet. Where it may not, resume follows.
func (o *outbox) room() (unsent int, ok bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.charge()
	ok = o.account.Room()
	o.full.Store(!ok)
	return o.fill.size, ok
}

// charge brings the account up to date. The caller holds mu.
func (o *outbox) charge() {
	o.account.Set(int(o.owed.Load()) + o.fill.size + o.sending)
}

// settled charges, and lets those go on who have waited for it. The caller holds
// mu.
func (o *outbox) settled() {
	if o.account == nil {
		return
	}
	o.charge()
	if o.full.Load() && (o.err != nil || o.account.Room()) {
		o.full.Store(false)
		o.resume()
	}
}

// hold makes flush wait for release, so that the answers to several commands
// leave together.
func (o *outbox) hold() {
	o.mu.Lock()
	o.held = true
	o.mu.Unlock()
}

// release ends hold and flushes.
func (o *outbox) release() {
	o.mu.Lock()
	o.held = false
	o.flushLocked()
	o.mu.Unlock()
}

// flush sends what was added, without blocking, or has the poller do it.
func (o *outbox) flush() {
	o.mu.Lock()
	if !o.held || o.deaf || o.fill.size >= heldMost && o.sock == nil {
		o.flushLocked()
	}
	o.mu.Unlock()
}

func (o *outbox) flushLocked() {
	if o.deaf {
		o.ownShared(o.fill)
	}
	switch {
	case o.err != nil || o.fill.size == 0:
		return
	case o.sock != nil:
		if !o.unsent.Swap(true) && o.wake != nil {
			o.wake()
		}
		return
	case o.busy:
		return
	}
	o.busy = true
	if o.raw != nil && o.pump(false) {
		o.idle()
		return
	}
	o.deaf = true
	o.ownShared(o.send)
	o.ownShared(o.fill)
	o.kick <- struct{}{}
}

// ownShared copies what is shared in a batch that is going to wait: nobody waits
// for a peer to read.
func (o *outbox) ownShared(b *batch) {
	if o.pool != nil {
		b.own(o.pool)
	}
}

// share releases everything shared that was added, sent or not.
func (o *outbox) share() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.sock == nil {
		o.flushLocked()
	}
	o.ownShared(o.fill)
}

func (o *outbox) idle() {
	o.busy, o.deaf = false, false
	o.rest.Broadcast()
}

// pump writes until nothing is left and reports that; without block it stops
// and reports false when the socket is full. The caller holds mu and has set
// busy; mu is free while writing.
func (o *outbox) pump(block bool) bool {
	for {
		if !o.next() {
			return true
		}
		if block {
			o.ownShared(o.send)
		}
		o.mu.Unlock()
		again, err := o.write(block)
		o.mu.Lock()
		if o.err != nil || err != nil {
			o.broken(err)
			hangUp(o.conn) // wakes the reader
			return true
		}
		o.sending = o.send.size
		o.settled()
		if again && !block {
			return false
		}
	}
}

// next makes what is to be sent next the batch to send, and reports whether
// there is any.
func (o *outbox) next() bool {
	if o.send.size > 0 {
		return true
	}
	o.send.drop()
	o.fill, o.send = o.send, o.fill
	o.sending = o.send.size
	return o.send.size > 0
}

// broken ends sending; the first error stays.
func (o *outbox) broken(err error) {
	if o.err == nil {
		o.err = err
	}
	o.send.drop()
	o.fill.drop()
	o.sending = 0
	o.settled()
}

// write sends of send what it can. A blocked one waits until the peer has read
// something, for at most the timeout.
func (o *outbox) write(block bool) (again bool, err error) {
	if block && o.timeout > 0 {
		_ = o.conn.SetWriteDeadline(time.Now().Add(o.timeout))
		defer o.conn.SetWriteDeadline(time.Time{})
	}
	if o.raw == nil {
		return false, o.send.writeAll(o.conn)
	}
	o.try = writeTry{block: block}
	if err := o.raw.Write(o.tryFn); err != nil {
		return false, err
	}
	return o.try.again, o.try.err
}

// writer does the blocking part.
func (o *outbox) writer() {
	defer close(o.done)
	if o.turn != nil {
		defer o.turn.Close()
	}
	for range o.kick {
		o.mu.Lock()
		o.pump(true)
		o.idle()
		o.mu.Unlock()
	}
}

// settle returns when everything added has been sent, or cannot be.
func (o *outbox) settle() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for o.err == nil && (o.busy || o.fill.size > 0) {
		if !o.busy {
			o.flushLocked()
			continue
		}
		o.rest.Wait()
	}
}

// stop ends the writer and releases all buffers. The connection must be
// closed already, else a blocked write is waited for.
func (o *outbox) stop() {
	o.mu.Lock()
	if o.err == nil {
		o.err = fabric.ErrClosed
	}
	for o.busy {
		o.rest.Wait()
	}
	o.fill.drop()
	o.send.drop()
	if o.sending = 0; o.account != nil {
		o.account.Close()
	}
	o.rest.Broadcast()
	if o.kick != nil {
		close(o.kick)
	}
	o.mu.Unlock()
	if o.done != nil {
		<-o.done
	}
}

// failure is why nothing is sent any more; nil while things are well.
func (o *outbox) failure() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.err
}
