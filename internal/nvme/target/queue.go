package target

import (
	"sync/atomic"

	"weft/internal/hint"
	"weft/internal/nvme/fabric"
	"weft/internal/nvme/wire"
)

// queue is the target's end of one connection: a queue pair, which belongs to
// a controller once it has sent Connect.
type queue struct {
	t    *Target
	conn fabric.Conn

	// Set by Connect, on the goroutine of the connection.
	ctrl   *controller
	portal *portal
	host   string // NQN
	qid    uint16
	auth   gatekeeper
	fusing fusing

	gone   atomic.Bool // it is disconnected
	seated atomic.Bool // it has its place among seats
}

// Begin judges a command.
func (q *queue) Begin(x *fabric.Exchange) (pull int, st wire.Status) {
	if x.Command.Fuse() != wire.NotFused || q.fusing.open.Load() != nil {
		return q.beginFused(x)
	}
	return q.begin(x)
}

// begin judges a command by itself.
func (q *queue) begin(x *fabric.Exchange) (pull int, st wire.Status) {
	if st := x.Command.Validate(); st != wire.Success {
		return 0, st
	}
	if q.ctrl == nil {
		return q.beginUnconnected(x)
	}
	q.ctrl.seen()
	switch {
	case x.Command.Opcode == wire.OpFabrics:
		return q.beginFabrics(x)
	case q.auth.closed.Load():
		return 0, wire.AuthRequired.WithDNR()
	case q.qid == 0:
		return 0, q.beginAdmin(x)
	}
	return q.beginIO(x)
}

// beginUnconnected lets nothing pass but Connect with its data.
func (q *queue) beginUnconnected(x *fabric.Exchange) (pull int, st wire.Status) {
	if x.Command.Opcode != wire.OpFabrics || x.Command.FabricsType() != wire.FabricsConnect {
		return 0, wire.CommandSequence.WithDNR()
	}
	if x.Length() != wire.ConnectDataSize {
		return 0, wire.SGLInvalidLength.WithDNR()
	}
	return wire.ConnectDataSize, wire.Success
}

func (q *queue) beginFabrics(x *fabric.Exchange) (pull int, st wire.Status) {
	switch x.Command.FabricsType() {
	case wire.FabricsAuthSend, wire.FabricsAuthReceive:
		return q.beginAuth(x)
	case wire.FabricsConnect:
		return 0, wire.CommandSequence.WithDNR()
	case wire.FabricsPropertyGet, wire.FabricsPropertySet:
		if q.auth.closed.Load() {
			return 0, wire.AuthRequired.WithDNR()
		}
		if q.qid == 0 {
			return 0, wire.Success
		}
	}
	return 0, wire.InvalidOpcode.WithDNR()
}

// Execute performs a command that Begin has let pass.
func (q *queue) Execute(x *fabric.Exchange) {
	switch {
	case q.ctrl == nil:
		q.connect(x)
	case x.Command.Opcode == wire.OpFabrics:
		q.executeFabrics(x)
	case q.qid == 0:
		q.ctrl.admin(x)
	default:
		q.executeIO(x)
	}
}

func (q *queue) executeFabrics(x *fabric.Exchange) {
	switch x.Command.FabricsType() {
	case wire.FabricsAuthSend, wire.FabricsAuthReceive:
		q.authenticate(x)
	default:
		q.ctrl.property(x)
	}
}

// Disconnected takes the queue from its controller; the controller ends with
// its admin queue.
func (q *queue) Disconnected(err error) {
	q.settleAuth()
	if q.ctrl == nil {
		// Strangers come and go; this machine's own lack of something is another matter.
		if advice := hint.Of(err); advice != "" {
			q.t.log.Warn("a host could not connect", "remote", q.conn.Remote(), "portal", q.conn.Local(), "error", err, "hint", advice)
		}
		return
	}
	q.ctrl.detach(q, err)
	q.abandon()
	q.leaveSeat()
}

// abandon ends the commands that wait for limits or workers: nobody waits for
// them.
func (q *queue) abandon() {
	q.gone.Store(true)
	if q.ctrl.sub == nil {
		return
	}
	var waiting []job
	for _, l := range q.ctrl.sub.now.Load().limiters() {
		waiting = append(waiting, l.drop(q)...)
	}
	for _, c := range q.t.crews() {
		waiting = append(waiting, c.drop(q)...)
	}
	for _, j := range waiting {
		q.abort(j)
	}
	q.part()
}

// Short is what this machine lacks, so that commands fail.
func (q *queue) Short(err error) {
	q.t.log.Warn("commands of a host fail", "remote", q.conn.Remote(), "portal", q.conn.Local(), "error", err, "hint", hint.Of(err))
}

// reply sends data that the host has asked for, which must be as long as the
// host expects.
func reply(x *fabric.Exchange, data []byte) {
	b := x.Alloc(len(data))
	copy(b.Bytes, data)
	x.Push(b)
	x.Complete(0, wire.Success)
}
