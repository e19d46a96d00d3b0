package target

import (
	"errors"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"weft/internal/nvme/fabric"
	"weft/internal/nvme/wire"
)

const (
	kaUnit         = time.Second       // KAS: what keep-alive timeouts are rounded up to
	discoveryAlive = 120 * time.Second // of a discovery controller that asks for none
)

const version = wire.Version14

// capabilities are the CAP property.
func (c *controller) capabilities() wire.CAP {
	return wire.CAP{MQES: uint16(c.maxDepth() - 1), CQR: true, TO: 30, CSS: 1}
}

// controller is what one host has of one subsystem: an admin queue and the I/O
// queues that joined it.
type controller struct {
	t      *Target
	sub    *subsystem // nil: discovery
	portal *portal    // where its admin queue is
	host   wire.ConnectData
	id     uint16

	transport string // of its admin queue
	tls       bool   // which is encrypted
	source    string // where that comes from

	keys atomic.Pointer[Keys] // that its host must prove; nil: none, now and later

	ready  atomic.Bool // enabled, and neither shut down nor ended
	active atomic.Bool // a command came since the keep-alive timer last looked

	mu     sync.Mutex
	cc     uint32 // the controller configuration property
	csts   uint32 // the controller status property
	queues map[uint16]*queue
	queued bool          // there has been an I/O queue since it was enabled
	alive  time.Duration // keep-alive timeout; 0: none
	timer  *time.Timer
	ended  bool
	notices
}

// seen notes that the host is alive: any command counts.
func (c *controller) seen() {
	if !c.active.Load() {
		c.active.Store(true)
	}
}

// watch sets the keep-alive timeout, in milliseconds; 0 is none.
func (c *controller) watch(kato uint32) {
	d := (time.Duration(kato)*time.Millisecond + kaUnit - 1) / kaUnit * kaUnit
	if d == 0 && c.sub == nil {
		d = discoveryAlive
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.timer != nil {
		c.timer.Stop()
		c.timer = nil
	}
	if c.alive = d; d > 0 && !c.ended {
		c.timer = time.AfterFunc(d, c.look)
	}
}

// look runs once in a keep-alive timeout and ends the controller when nothing
// came since it last ran: after one to two timeouts of silence.
func (c *controller) look() {
	if !c.active.Swap(false) {
		c.t.refused.silent.Add(1)
		c.end("keep-alive timeout")
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.timer != nil && !c.ended {
		c.timer.Reset(c.alive)
	}
}

// unready is the answer to a command while ready is false. One that comes while
// the controller ends is not the host's fault: it goes on with another.
func (c *controller) unready() wire.Status {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended {
		return wire.AbortedSQDeletion
	}
	return wire.CommandSequence.WithDNR()
}

// attach makes q the queue qid. One that has yet to authenticate must leave for
// it, unless it comes from where the controller's host is and q does not.
func (c *controller) attach(qid uint16, q *queue) error {
	c.mu.Lock()
	old := c.queues[qid]
	switch {
	case c.ended:
		c.mu.Unlock()
		return noController(c.id)
	case old != nil && (!old.auth.closed.Load() || q.source() != c.source && old.source() == c.source):
		c.mu.Unlock()
		return refuse(wire.CommandSequence.WithDNR(), "queue %d of controller %d is connected already", qid, c.id)
	}
	c.queues[qid] = q
	c.queued = c.queued || qid != 0
	c.mu.Unlock()
	if old != nil {
		old.conn.Close()
	}
	return nil
}

// hasQueued says that it is too late to ask for a number of queues.
func (c *controller) hasQueued() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.queued
}

// detach is called when the connection of q is gone.
func (c *controller) detach(q *queue, err error) {
	if q.qid == 0 {
		why := "the host has disconnected"
		if err != nil && !errors.Is(err, io.EOF) {
			why = err.Error()
		}
		c.end(why)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.queues[q.qid] == q {
		delete(c.queues, q.qid)
	}
}

// end closes all connections of the controller and forgets it.
func (c *controller) end(why string) {
	c.mu.Lock()
	if c.ended {
		c.mu.Unlock()
		return
	}
	c.ended = true
	c.ready.Store(false)
	c.csts |= wire.CSTSFatal
	c.forget()
	if c.timer != nil {
		c.timer.Stop()
	}
	queues := c.queues
	c.queues = nil
	c.mu.Unlock()

	c.t.remove(c)
	c.t.unproven.Leave(c)
	c.t.visitors.Leave(c)
	c.t.log.Info("controller ended", "why", why, "controller", c.id, "host", c.host.HostNQN, "subsystem", c.host.SubNQN)
	for _, q := range queues {
		q.conn.Close()
	}
}

// property performs Property Get and Property Set.
func (c *controller) property(x *fabric.Exchange) {
	p := x.Command.Property()
	if x.Command.CDW10&7 > 1 || p.Wide != (p.Offset == wire.PropCAP) {
		x.Complete(0, wire.InvalidField.WithDNR())
		return
	}
	if p.Set {
		x.Complete(0, c.setProperty(p))
		return
	}
	value, st := c.getProperty(p.Offset)
	x.Complete(value, st)
}

func (c *controller) getProperty(offset uint32) (uint64, wire.Status) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch offset {
	case wire.PropCAP:
		return c.capabilities().Value(), wire.Success
	case wire.PropVS:
		return version, wire.Success
	case wire.PropCC:
		return uint64(c.cc), wire.Success
	case wire.PropCSTS:
		return uint64(c.csts), wire.Success
	}
	return 0, wire.InvalidField.WithDNR()
}

func (c *controller) setProperty(p wire.PropertyCommand) wire.Status {
	if p.Offset != wire.PropCC {
		return wire.InvalidField.WithDNR()
	}
	drop, held := c.configure(uint32(p.Value))
	for _, x := range held {
		x.Drop() // never an answer: Base 1.4 section 5.2, and hosts have forgotten them
	}
	for _, q := range drop {
		q.conn.Close()
	}
	return wire.Success
}

// configure acts on a new controller configuration. It returns the I/O queues
// and the event requests that a shutdown or a reset ends.
func (c *controller) configure(cc uint32) (drop []*queue, held []*fabric.Exchange) {
	const sizes = 0xff << 16 // of queue entries
	c.mu.Lock()
	defer c.mu.Unlock()
	old := c.cc
	c.cc = cc
	switch {
	case c.ended:
		return nil, nil
	case cc&wire.CCShutdownAny != 0:
		c.csts = c.csts&^(wire.CSTSShutdownMask|wire.CSTSReady) | wire.CSTSShutdownComplete
	case cc&wire.CCEnable == 0:
		c.csts = 0
	case old&wire.CCEnable == 0 && c.sub != nil && cc&sizes != wire.CCIOSQES|wire.CCIOCQES:
		c.csts = wire.CSTSFatal
	case old&wire.CCEnable == 0:
		c.csts = wire.CSTSReady
	}
	c.ready.Store(c.csts&wire.CSTSReady != 0)
	if c.ready.Load() {
		return nil, nil
	}
	c.queued = false
	for id, q := range c.queues {
		if id != 0 {
			drop = append(drop, q)
			delete(c.queues, id)
		}
	}
	return drop, c.forget()
}
