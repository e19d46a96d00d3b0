package fabric

import "weft/internal/nvme/wire"

// An Exchange is one command on its way through a target. The transport makes
// it and reuses it after Complete or Drop, which nobody may touch it after.
type Exchange struct {
	Command wire.Command
	Data    []byte // what was fetched from the host; valid from Execute until Complete
	State   any    // the handler's own; nil in Begin

	carrier Carrier
	slot    int
}

// Carrier is what a transport does for its exchanges. Its methods may be
// called from any goroutine, for one exchange not concurrently.
type Carrier interface {
	Alloc(x *Exchange, n int) Buffer
	Push(x *Exchange, b Buffer)
	Complete(x *Exchange, result uint64, st wire.Status)
	Drop(x *Exchange)
	Settle(x *Exchange)
}

// NewExchange is for transports: an exchange that c carries. Slot is the
// carrier's own number for it.
func NewExchange(c Carrier, slot int) Exchange { return Exchange{carrier: c, slot: slot} }

// Slot is the number that the carrier has given.
func (x *Exchange) Slot() int { return x.slot }

// Length is how many bytes of data the host offers to move, in the direction
// of the command; 0 without data. A response with success to a command
// towards the host must have pushed exactly so many.
func (x *Exchange) Length() int { return int(x.Command.SGL.Length) }

// Alloc is memory of the transport's to be filled and pushed. It holds n bytes
// of undefined content and must be pushed or released.
func (x *Exchange) Alloc(n int) Buffer { return x.carrier.Alloc(x, n) }

// Push sends data to the host, after what was pushed before. The bytes belong
// to the transport until it has released the buffer, which may be before Push
// returns or after Complete; the owner must not block. More than Length
// bytes are not sent: the command then completes with wire.SGLInvalidLength.
func (x *Exchange) Push(b Buffer) { x.carrier.Push(x, b) }

// Settle releases all Shared buffers that were pushed on the connection of x,
// by sending or copying them. Who is about to wait for a lock that Shared
// buffers hold calls it first.
func (x *Exchange) Settle() { x.carrier.Settle(x) }

// Complete ends the command. Where the status is not success the host
// disregards what was pushed. x and x.Data must not be used afterwards.
func (x *Exchange) Complete(result uint64, st wire.Status) { x.carrier.Complete(x, result, st) }

// Drop ends the command without an answer: its host has given it up, as one that
// resets a controller does with requests for events. x and x.Data must not be used
// afterwards.
func (x *Exchange) Drop() { x.carrier.Drop(x) }
