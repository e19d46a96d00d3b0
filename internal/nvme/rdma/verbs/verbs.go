// Package verbs speaks to RDMA hardware of any vendor: libibverbs and
// librdmacm, loaded at run time and called without cgo.
//
// Connections are made with rdma_cm, over RoCE, InfiniBand and iWARP alike.
// What C compiles into its callers, posting and polling, is called through the
// table of functions that every opened device has. The layouts that this rests
// on are checked on each device before it is used.
//
// The interfaces here are what the hardware can do, as far as NVMe needs it;
// [Load] returns the real thing, package verbstest has one in memory.
package verbs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"time"
)

// A Provider finds devices and makes connections. Its methods may be called
// concurrently.
type Provider interface {
	// Devices lists what there is, with the ports and their GIDs.
	Devices() ([]Device, error)

	// Resolve finds the device and the route to an address. The context bounds
	// it. The Link is for Open and Connect.
	Resolve(ctx context.Context, r Route) (Link, error)

	// Listen takes connections at an address of a device; port 0 takes a free
	// one.
	Listen(addr netip.AddrPort) (Acceptor, error)
}

// A Route is where a connection goes to, and how.
type Route struct {
	To   netip.AddrPort
	From netip.Addr // of this machine; the zero Addr leaves it to the system
	ToS  uint8      // type of service, the traffic class of IPv6; 0 leaves it to the system
}

// An Acceptor is an address that is listened on.
type Acceptor interface {
	// Accept waits for a peer that wants to connect. The Link is for Open and
	// Answer. After Close the error wraps net.ErrClosed; ErrRemoved says that
	// nobody can come any more.
	Accept() (Link, Hello, error)

	// Addr is the address with the port that was taken.
	Addr() netip.AddrPort

	// Close stops listening. Peers that were not accepted are refused.
	Close() error
}

// A Hello is what each end says of itself while connecting.
type Hello struct {
	Private []byte // of the protocol above; what arrives may be padded with zeros

	// Reads is how many RDMA reads the peer of who sends a Hello may have in
	// progress; Issues, how many it wants to have itself. In a Hello that has
	// arrived they are seen from here: Issues is what this end may have.
	Reads, Issues int
}

// A Link is one connection in the making, and what is left of it.
type Link interface {
	// Domain is the device's that the connection runs over.
	Domain() Domain

	// Ends are the addresses of both ends.
	Ends() (local, remote netip.AddrPort)

	// Open makes the queues, which complete in a hub of the Domain. What is
	// received must be posted before Connect or Answer.
	Open(h Hub, q Queue) (Pair, error)

	// Connect ends the making on the side that has resolved. A peer that
	// refuses is a *RefusedError.
	Connect(ctx context.Context, h Hello) (Hello, error)

	// Answer accepts the peer, or refuses it; of a refusal only the private
	// data arrives. It does not wait for the peer to take notice.
	Answer(h Hello, accept bool) error

	// Close ends the connection and returns when the hardware has forgotten
	// it: no memory is touched on its behalf any more. Nobody may be inside the
	// Pair's methods. Completions may be left in the hub, until its Poll next
	// finds less than there was room for. Closing twice is no error.
	Close() error
}

// A Queue says how much room the queues of a Pair have.
type Queue struct {
	Sends    int // works posted with Send whose completion was not polled, unsignalled ones included
	Receives int // the same of Receive
	Inline   int // bytes that a Send with Inline may hold; less, or none, where the hardware cannot
}

// A Pair is the queues of a connection. Send and Ended may be called concurrently
// with everything; of Receive one goroutine at a time calls it.
type Pair interface {
	// Send posts works in order, as one chain.
	Send(works []Work) error

	// Receive posts memory for what the peer sends.
	Receive(works []Work) error

	// Ended is why the connection has ended, as far as the hub's Wait has seen:
	// ErrDisconnected, and what the device tells, such as ErrDevice. Completions
	// may be there that say more. nil: it goes on.
	Ended() error
}

// A Hub is where the completions of pairs arrive, and what happens to their
// connections; the ids of works tell which pair it was. Wake may be called
// concurrently with everything; of the others one goroutine at a time calls each.
type Hub interface {
	// Poll fetches completions. It never blocks.
	Poll(done []Done) (int, error)

	// Arm has Wait return for the next completion. One that was there before
	// may not count: Poll once more after Arm.
	Arm() error

	// Wait blocks until a completion may be there since Arm, which every Wait
	// takes back, or until the deadline, os.ErrDeadlineExceeded; the zero Time
	// is none. ErrNews says that a pair has ended, or that Wake was called, once
	// for all of that so far; it may be nothing after all. With a deadline that
	// has passed Wait only looks.
	Wait(deadline time.Time) error

	// Wake has Wait return ErrNews: the one in progress, or else the next.
	Wake()

	// Close is for when the links of all its pairs are closed. Wake may still be
	// called. Closing twice is no error.
	Close() error
}

// MaxInline is the most bytes of a work that are sent Inline where the Pair
// allows it.
const MaxInline = 64

// Errors of Wait and Accept, besides those of the system.
var (
	ErrDisconnected = errors.New("the peer has disconnected")
	ErrRemoved      = errors.New("the RDMA device was removed")
	ErrNews         = errors.New("a connection has ended, or there is something else to see to")
	ErrNobody       = errors.New("no neighbour on the path answers for the address")

	// What the device itself tells of a connection.
	ErrDevice = errors.New("the RDMA device has failed or was removed")
	ErrQueue  = errors.New("the RDMA device has put it into error")
)

// A RefusedError is a peer that does not want the connection, or an address
// that nobody listens on.
type RefusedError struct {
	Reason  int    // of the connection manager: 28 is the peer's own, less than 0 an errno (iWARP)
	Private []byte // what it had to say
}

// ByPeer says that the peer itself has refused, not the machine it runs on.
// With iWARP it is who has something to say: which errno stands for it differs
// from device to device.
func (e *RefusedError) ByPeer() bool {
	return e.Reason == refusedByConsumer || e.Reason < 0 && len(e.Private) > 0
}

const (
	refusedByConsumer = 28
	refusedNoListener = 8
	refusedByKernel   = -111 // ECONNREFUSED: with iWARP nobody listens
)

func (e *RefusedError) Error() string {
	switch {
	case e.ByPeer():
		return "refused by the peer"
	case e.Reason == refusedNoListener, e.Reason == refusedByKernel:
		return "connection refused: nothing listens there"
	}
	return fmt.Sprintf("connection refused (reason %d of the connection manager)", e.Reason)
}

// A Domain is a device as far as memory is concerned. Domains of one device are
// equal.
type Domain interface {
	// Register makes memory known to the hardware, which keeps it in place.
	Register(b []byte, a Access) (*Memory, error)

	// Hub makes one for so many completions: the sum of what the queues have room
	// for of all pairs that it is to have at a time.
	Hub(room int) (Hub, error)

	// Limits are those of the device.
	Limits() Limits
}

// Access is what may be done to registered memory, besides sending from it.
type Access uint32

// The kinds of access; RemoteWrite needs LocalWrite.
const (
	LocalWrite  Access = 1 << 0 // receiving, and reading from the peer, into it
	RemoteWrite Access = 1 << 1 // by a peer that knows the key
	RemoteRead  Access = 1 << 2
)

// Limits are what a device can do.
type Limits struct {
	Device string // its name
	Works  int    // in one queue
	Dones  int    // completions of a Hub
	Reads  int    // from a peer, in progress on a connection that has asked for them
	Issues int    // to a peer
	IWARP  bool   // what is read from a peer needs memory with RemoteWrite
}

// Memory is registered.
type Memory struct {
	Addr   uint64 // where it begins, for Piece and for peers
	Local  uint32 // key for Piece
	Remote uint32 // key for peers

	close func() error
}

// NewMemory is for providers.
func NewMemory(addr uint64, local, remote uint32, free func() error) *Memory {
	return &Memory{Addr: addr, Local: local, Remote: remote, close: free}
}

// Close takes the memory back. No work that names it may be in progress.
func (m *Memory) Close() error { return m.close() }

// A Piece is a part of registered memory.
type Piece struct {
	Addr uint64
	Len  uint32
	Key  uint32
}

// Op is what a work does. The values are those of libibverbs.
type Op uint32

// The kinds of work.
const (
	OpWrite          Op = 0 // into the peer's memory
	OpSend           Op = 2
	OpRead           Op = 4 // from the peer's memory
	OpSendInvalidate Op = 9 // and the peer's key is no longer good
)

// Flags of a work. The values are those of libibverbs.
type Flags uint32

// The flags.
const (
	Signaled  Flags = 1 << 1 // its success is told, too
	Solicited Flags = 1 << 2
	Inline    Flags = 1 << 3 // the memory is free again when Send returns, and need not be registered
)

// A Work is something to do for the hardware.
type Work struct {
	ID     uint64
	Op     Op
	Flags  Flags
	Local  Piece
	Remote uint64 // address, of OpWrite and OpRead
	Key    uint32 // of the peer's memory, also of OpSendInvalidate
}

// Done is a work that has ended.
type Done struct {
	ID          uint64
	Status      Status
	Bytes       int    // received
	Invalidated uint32 // key that the peer has invalidated with what was received; 0: none
	Vendor      uint32 // what the hardware adds to a bad status
}

// Err is the status as an error; nil is success.
func (d *Done) Err() error {
	if d.Status == OK {
		return nil
	}
	if d.Vendor != 0 {
		return fmt.Errorf("%w (vendor code 0x%x)", d.Status, d.Vendor)
	}
	return d.Status
}

// Status is how a work has ended. The values are those of libibverbs.
type Status uint32

// Some of them.
const (
	OK           Status = 0
	LengthError  Status = 1  // more was received than there was memory for
	LocalProtect Status = 4  // memory or key of this end
	Flushed      Status = 5  // the connection has ended
	LocalAccess  Status = 8  // memory that something is received into
	BadRequest   Status = 9  // the peer could not take it
	RemoteAccess Status = 10 // memory or key of the peer
	RemoteFailed Status = 11
	NoAnswer     Status = 12 // of the peer, however often it was tried
	NotReady     Status = 13 // the peer, to receive
)

func (s Status) Error() string {
	return cmp.Or(map[Status]string{
		OK:           "success",
		LengthError:  "more was sent than there was memory for",
		LocalProtect: "memory of this end is not registered",
		Flushed:      "the connection has ended",
		LocalAccess:  "memory of this end may not be written to",
		BadRequest:   "the peer could not take the request",
		RemoteAccess: "memory or key of the peer is not valid",
		RemoteFailed: "the peer could not perform it",
		NoAnswer:     "the peer does not answer",
		NotReady:     "the peer has no room to receive",
	}[s], fmt.Sprintf("work failed with status %d", uint32(s)))
}

// A Device is an RDMA device.
type Device struct {
	Name  string
	IWARP bool
	Ports []Port
}

// A Port is one of a device.
type Port struct {
	Number   int
	State    PortState
	Ethernet bool // else InfiniBand
	MTU      int  // bytes, in force
	LID      int  // of InfiniBand, 0: none
	SMLID    int  // of the subnet manager, 0: there is none
	GIDs     []GID
}

// PortState is how a port is. The values are those of libibverbs.
type PortState uint32

// The states.
const (
	PortDown   PortState = 1
	PortInit   PortState = 2 // of InfiniBand: cabled, and no subnet manager has come by
	PortArmed  PortState = 3
	PortActive PortState = 4
)

func (s PortState) String() string {
	return cmp.Or(map[PortState]string{
		PortDown:   "down",
		PortInit:   "initialising",
		PortArmed:  "armed",
		PortActive: "active",
	}[s], fmt.Sprintf("state %d", uint32(s)))
}

// A GID is an address of a port.
type GID struct {
	Index int
	Type  GIDType
	Raw   [16]byte
}

// IP is the address as IP knows it: of RoCE v2 GIDs it is that of the network
// interface.
func (g GID) IP() netip.Addr { return netip.AddrFrom16(g.Raw).Unmap() }

// GIDType is the kind of a GID. The values are those of libibverbs.
type GIDType uint32

// The kinds.
const (
	GIDInfiniBand GIDType = 0
	GIDRoCEv1     GIDType = 1
	GIDRoCEv2     GIDType = 2
)

func (t GIDType) String() string {
	return cmp.Or(map[GIDType]string{
		GIDInfiniBand: "InfiniBand",
		GIDRoCEv1:     "RoCE v1",
		GIDRoCEv2:     "RoCE v2",
	}[t], fmt.Sprintf("GID type %d", uint32(t)))
}
