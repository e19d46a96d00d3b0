package initiator

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"weft/internal/nvme/fabric"
	"weft/internal/nvme/wire"
)

// closePatience is how long a controller may take to agree to a shutdown.
const closePatience = 3 * time.Second

// A Controller is a connection to a subsystem: an admin queue that is kept
// alive, and I/O queues. Its methods may be called concurrently.
type Controller struct {
	opts       Options
	admin      *admin
	identity   wire.IdentifyController
	namespaces []Namespace

	quit chan struct{} // ends keep-alive
	kept chan struct{} // keep-alive has ended
	done chan struct{} // the controller is lost or closed

	mu     sync.Mutex
	queues []*Queue
	err    error // why done was closed
	closed bool
}

// ErrClosed is Controller.Err after Close.
var ErrClosed = errors.New("controller closed")

// Connect connects to a subsystem and makes everything ready for I/O. The
// context bounds the connecting only.
func Connect(ctx context.Context, tr fabric.Transport, o Options) (*Controller, error) {
	o = o.withDefaults()
	c, err := dial(ctx, tr, o)
	if err != nil {
		return nil, fmt.Errorf("connect to %s at %s: %w", o.SubNQN, o.Addr, err)
	}
	return c, nil
}

func dial(ctx context.Context, tr fabric.Transport, o Options) (*Controller, error) {
	if err := o.validate(); err != nil {
		return nil, err
	}
	a, capability, err := open(ctx, tr, o)
	if err != nil {
		return nil, err
	}
	c := &Controller{
		opts: o, admin: a,
		quit: make(chan struct{}), kept: make(chan struct{}), done: make(chan struct{}),
	}
	go c.keepAlive()
	stop := context.AfterFunc(ctx, func() { c.fail(context.Cause(ctx)) })
	err = c.setUp(ctx, tr, capability)
	if !stop() && err == nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		_ = c.Close()
		return nil, because(ctx, err)
	}
	return c, nil
}

// setUp brings an enabled controller to where it does I/O.
func (c *Controller) setUp(ctx context.Context, tr fabric.Transport, capability wire.CAP) (err error) {
	if c.identity, err = c.admin.identify(); err != nil {
		return err
	}
	if c.identity.CntrlType == wire.ControllerDiscovery {
		return fmt.Errorf("this is a discovery controller, it does no I/O")
	}
	want := wire.QueueCounts{Submission: c.opts.Queues, Completion: c.opts.Queues}
	result, err := c.admin.do(wire.FeatureCommand{Set: true, FID: wire.FeatureQueues, Value: want.Value()}.Command(), nil)
	if err != nil {
		return fmt.Errorf("set number of queues: %w", err)
	}
	granted := wire.QueueCountsOf(uint32(result))
	depth := min(c.opts.QueueSize, int(capability.MQES))
	if c.identity.MAXCMD != 0 {
		depth = min(depth, int(c.identity.MAXCMD))
	}
	if depth < 1 {
		return fmt.Errorf("controller has queues of %d entries", int(capability.MQES)+1)
	}
	for i := range min(c.opts.Queues, granted.Submission, granted.Completion) {
		q, err := c.openQueue(ctx, tr, uint16(i+1), depth)
		if err != nil {
			return fmt.Errorf("I/O queue %d: %w", i+1, err)
		}
		c.mu.Lock()
		c.queues = append(c.queues, q)
		c.mu.Unlock()
	}
	c.namespaces, err = c.scan()
	return err
}

// openQueue dials and connects an I/O queue.
func (c *Controller) openQueue(ctx context.Context, tr fabric.Transport, qid uint16, depth int) (*Queue, error) {
	fq, err := tr.Dial(ctx, fabric.DialParams{
		Addr: c.opts.Addr, QID: qid, Depth: depth, InCapsule: c.identity.InCapsule(), Timeout: c.opts.Timeout,
		HeaderDigest: c.opts.HeaderDigest, DataDigest: c.opts.DataDigest,
	})
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { _ = fq.Close() })
	result, err := connect(fq, c.opts, wire.ConnectCommand{QID: qid, SQSize: uint16(depth)}, c.admin.id)
	if err != nil {
		err = fmt.Errorf("connect command: %w", err)
	} else {
		err = c.opts.prove(fq, qid, result)
	}
	if !stop() && err == nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		_ = fq.Close()
		return nil, err
	}
	return &Queue{q: fq, addr: c.opts.Addr, depth: depth, most: c.identity.MaxTransfer()}, nil
}

// keepAlive tells the controller twice per timeout that the host is there.
func (c *Controller) keepAlive() {
	defer close(c.kept)
	if c.opts.KATO == 0 {
		return
	}
	tick := time.NewTicker(max(c.opts.KATO/2, time.Millisecond))
	defer tick.Stop()
	for {
		select {
		case <-c.quit:
			return
		case <-tick.C:
		}
		if _, err := c.admin.do(wire.Command{Opcode: wire.OpKeepAlive}, nil); err != nil {
			c.fail(fmt.Errorf("keep alive: %w", err))
			return
		}
	}
}

// fail makes the controller lost: all queues end, calls in progress return.
func (c *Controller) fail(err error) {
	c.mu.Lock()
	first := c.err == nil
	if first {
		c.err = fmt.Errorf("%s at %s: %w", c.opts.SubNQN, c.opts.Addr, err)
	}
	c.mu.Unlock()
	if !first {
		return
	}
	_ = c.admin.q.Close()
	for _, q := range c.Queues() {
		_ = q.q.Close()
	}
	close(c.done) // last: who sees it does no more I/O
}

// Done is closed when the controller is lost or closed.
func (c *Controller) Done() <-chan struct{} { return c.done }

// Err says why Done is closed; nil before.
func (c *Controller) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// ID is the controller's number in its subsystem.
func (c *Controller) ID() uint16 { return c.admin.id }

// Addr is the logical address of the portal.
func (c *Controller) Addr() string { return c.opts.Addr }

// Identity is what the controller says about itself.
func (c *Controller) Identity() wire.IdentifyController { return c.identity }

// Queues are the I/O queues that the controller has granted.
func (c *Controller) Queues() []*Queue {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.queues)
}

// Admin runs a command on the admin queue and blocks until it is answered. The
// data is sent or filled as the opcode says. An answer other than success is
// an error that wraps its wire.Status.
func (c *Controller) Admin(cmd wire.Command, data []byte) (result uint64, err error) {
	if result, err = c.admin.do(cmd, data); err != nil {
		return 0, fmt.Errorf("%s: admin command 0x%02x: %w", c.opts.Addr, cmd.Opcode, err)
	}
	return result, nil
}

// Close ends the I/O queues, shuts the controller down and disconnects. It
// returns the error of a shutdown that went wrong; a controller that was lost
// before closes without error.
func (c *Controller) Close() error {
	c.mu.Lock()
	again, lost := c.closed, c.err != nil
	c.closed = true
	c.mu.Unlock()
	if again {
		return nil
	}
	for _, q := range c.Queues() {
		_ = q.q.Close()
	}
	var err error
	if !lost {
		if err = c.admin.shutdown(closePatience); err != nil {
			err = fmt.Errorf("shut down %s at %s: %w", c.opts.SubNQN, c.opts.Addr, err)
		}
	}
	close(c.quit)
	c.fail(ErrClosed)
	<-c.kept
	_ = c.admin.q.Close()
	return err
}
