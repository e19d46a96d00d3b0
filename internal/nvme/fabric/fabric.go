// Package fabric is the seam between what a command means and what carries it.
//
// The host's end of a queue pair is a [Queue]; the target's end calls a
// [Handler]. A [Transport] makes both. Nothing here is specific to TCP or
// RDMA, and nothing here blocks or starts goroutines.
package fabric

import (
	"cmp"
	"context"
	"runtime"
	"time"

	"weft/internal/nvme/wire"
)

// A Transport dials and listens, and makes memory ready for transfers.
// Its methods may be called concurrently.
//
// Addresses are "host:port" and logical: what the fabric calls them. A
// transport may map them to other real ones.
type Transport interface {
	// Name is the short name of the kind: "tcp", "rdma".
	Name() string

	// Register makes memory ready for transfers: pinned for RDMA, as it is for
	// TCP. The memory must stay where it is until the region is closed.
	Register(b []byte) (Region, error)

	// Dial opens one queue pair, without any command on it: the caller sends
	// Connect. The context bounds the dialling only.
	Dial(ctx context.Context, p DialParams) (Queue, error)

	// Listen accepts queue pairs until the listener is closed. The context
	// bounds the start only. For each queue pair it calls accept, which may be
	// called concurrently; a nil Handler refuses the connection.
	Listen(ctx context.Context, p ListenParams, accept func(Conn) Handler) (Listener, error)
}

// DialParams describe a queue pair to open.
type DialParams struct {
	Addr      string        // logical address of the target
	QID       uint16        // 0 for the admin queue
	Depth     int           // most commands outstanding; tags are 0..Depth-1
	InCapsule int           // data bytes that a capsule may hold on an I/O queue: IdentifyController.InCapsule; admin and fabrics commands may always hold 8192 over TCP
	Timeout   time.Duration // a command without an answer for so long fails the queue; 0 waits for ever

	// Checksums of TCP, of what arrives and what leaves. Other transports have
	// their own and disregard these.
	HeaderDigest bool
	DataDigest   bool
}

// ListenParams describe a portal to offer.
type ListenParams struct {
	Addr        string        // logical address; port 0 takes a free one
	MaxDepth    int           // most commands outstanding on one queue pair; the Handler refuses larger queues (MQES is MaxDepth-1)
	InCapsule   int           // data bytes accepted in a capsule on I/O queues, a multiple of 16; Identify reports it as IOCCSZ
	MaxTransfer int           // largest data of one command in bytes; Identify reports it as MDTS
	Timeout     time.Duration // how long a peer may take until it is connected, and to read anything of what was sent to it
	Waiting     int           // connections that may be there at once on which no host has connected yet; 0 is as many as the transport likes, which is the most
	Budget      *Budget       // of memory that peers make this process hold, shared by its listeners; nil: DefaultBudget for this one
	Turns       *Turns        // in which connections that wait for events are worked for, shared by the listeners of a process; nil: as many of one source as Processors, for this one
	Processors  int           // that connections may keep busy; 0: as many as run Go
}

// Defaults of ListenParams.
const (
	DefaultMaxDepth    = 128
	DefaultInCapsule   = 8192
	DefaultMaxTransfer = 1 << 20
	DefaultTimeout     = 20 * time.Second
)

// WithDefaults is p with its zero fields, the address excepted, filled in.
func (p ListenParams) WithDefaults() ListenParams {
	p.MaxDepth = cmp.Or(p.MaxDepth, DefaultMaxDepth)
	p.InCapsule = cmp.Or(p.InCapsule, DefaultInCapsule)
	p.MaxTransfer = cmp.Or(p.MaxTransfer, DefaultMaxTransfer)
	p.Timeout = cmp.Or(p.Timeout, DefaultTimeout)
	if p.Budget == nil {
		p.Budget = NewBudget(DefaultBudget)
	}
	p.Processors = cmp.Or(p.Processors, runtime.GOMAXPROCS(0))
	if p.Turns == nil {
		p.Turns = NewTurns(p.Processors, nil)
	}
	return p
}

// A Listener is an open portal.
type Listener interface {
	// Addr is the logical address, with the port that was taken where port 0
	// was asked for.
	Addr() string

	// Close stops accepting, ends all connections and returns when every
	// Handler has been told. Closing twice is no error.
	Close() error
}

// A Conn is one queue pair as its target sees it.
type Conn interface {
	// Transport is Transport.Name.
	Transport() string

	// Local is the logical address that the host has reached, never a
	// wildcard.
	Local() string

	// Remote is the address of the host.
	Remote() string

	// Close ends the connection without waiting. It may be called from
	// anywhere, a Handler included, any number of times. Responses that are
	// not yet sent may be lost.
	Close()
}

// A Conn that is Secured tells the identity of the key which its host has shown to
// have; "" where nothing is encrypted.
type Secured interface{ Identity() string }

// A Queue is the host's end of a queue pair.
//
// One goroutine at a time uses Submit, Poll and Wait; Close may be called from
// any. After an error other than those of Submit that are documented there,
// the queue is dead: every call returns an error and commands outstanding
// will not complete.
type Queue interface {
	// Submit hands a command over. The tag must be free and below the depth;
	// it comes back as the completion's CID. Submit sets the id, the SGL and the
	// flags in cmd, but for those that fuse it with its neighbour; cmd itself may be reused at once. Data moves as
	// cmd.Direction says: all of buf.Bytes is sent, or is what may be filled.
	// The bytes belong to the queue until the completion was returned by Poll
	// or Wait or, when the queue has died, until Close has returned.
	// buf.Owner is not used.
	//
	// Submit never blocks. It may keep what is to be sent until the next Poll
	// or Wait. A tag out of range or in use is ErrTag and changes nothing.
	Submit(tag uint16, cmd *wire.Command, buf Buffer) error

	// Poll sends what is waiting and fills done with what has completed. It
	// never blocks. A completion with success has moved all the data.
	Poll(done []wire.Completion) (int, error)

	// Wait is Poll that blocks until there is at least one completion, the
	// timeout of the queue has passed for a command, or the queue has failed.
	// With nothing outstanding it returns ErrIdle.
	Wait(done []wire.Completion) (int, error)

	// Close ends the connection and waits until the queue no longer touches
	// any buffer. Calls in progress return ErrClosed.
	Close() error
}

// A Handler is the target's end of a queue pair: what commands mean. The
// transport makes one for each connection and calls Begin and Execute from one
// goroutine, so they must not block for long; a backend that may block
// completes from another goroutine.
type Handler interface {
	// Begin judges a command before data of the host is fetched. It is called for
	// every command, in the order in which the host has sent them. It returns
	// how many bytes to fetch, 0 for commands that bring none, or the status
	// to complete with; then Execute is not called, but Lost. pull must not be greater
	// than x.Length().
	Begin(x *Exchange) (pull int, st wire.Status)

	// Execute performs the command; x.Data holds what was fetched. It must
	// lead to exactly one x.Complete or x.Drop, now or later, or never if
	// the connection ends first.
	Execute(x *Exchange)

	// Disconnected says that the queue pair is gone and why; nil after
	// Listener.Close or Conn.Close. It is the last call, and comes exactly
	// once. Exchanges not yet completed may still be pushed to and completed,
	// to no effect but the release of buffers.
	Disconnected(err error)
}

// A Loser is a handler that performs commands together. Where a command is not to be
// executed, because Begin has said so, its data is not described as the transport has
// it, has come torn or found no memory, the transport calls Lost instead of Execute,
// from any goroutine, and leaves it to the handler to complete the command with st.
type Loser interface {
	Lost(x *Exchange, st wire.Status)
}

// Begin is for transports: it has h begin a command, of which the transport itself
// says bad, or wire.Success, and may fetch so many bytes at most. A status that is not
// success is for Lose.
func Begin(h Handler, x *Exchange, bad wire.Status, most int) (pull int, st wire.Status) {
	pull, st = h.Begin(x)
	switch {
	case bad != wire.Success:
		return 0, bad
	case st != wire.Success:
		return 0, st
	case pull < 0 || pull > x.Length() || pull > 0 && x.Command.Direction() != wire.ToController:
		return 0, wire.SGLInvalidLength.WithDNR()
	case pull > most:
		return 0, wire.InvalidField.WithDNR()
	}
	return pull, wire.Success
}

// Lose is for transports: it ends a command that is not executed.
func Lose(h Handler, x *Exchange, st wire.Status) {
	if l, ok := h.(Loser); ok {
		l.Lost(x, st)
		return
	}
	x.Complete(0, st)
}

// A Handler that has Short is told, once for each queue pair, why the transport
// fails commands with InternalError: this machine is short of something.
type Short interface{ Short(err error) }
