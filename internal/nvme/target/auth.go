package target

import (
	"crypto/rand"
	"sync/atomic"
	"time"

	"weft/internal/nvme/dhchap"
	"weft/internal/nvme/fabric"
	"weft/internal/nvme/wire"
)

// authTime is how long a host may take to authenticate a queue.
const authTime = 2 * time.Minute

// Keys are the secrets of one host at one subsystem.
type Keys struct {
	Host   dhchap.Secret // that the host must prove
	Sub    dhchap.Secret // that the subsystem proves where the host asks; may be empty
	Hashes []dhchap.Hash // that may be used, the preferred first; empty: all
	Groups []dhchap.Group
}

// gatekeeper is what stands between a queue and its controller until the host
// has authenticated. Its zero value lets everything pass.
type gatekeeper struct {
	chap   *dhchap.Controller // nil where no authentication is needed
	closed atomic.Bool        // not yet authenticated, or no longer
	busy   atomic.Bool        // a message is being worked on
	timer  *time.Timer        // ends the connection of a host that takes too long
}

// require makes a queue ask for authentication where its host has keys. It
// returns what the result of Connect says about it.
func (q *queue) require(l *layout, host string) (result uint64) {
	keys, has := l.Keys[host]
	if !has {
		return 0
	}
	q.auth.chap = dhchap.NewController(dhchap.Peer{
		HostNQN: host, SubNQN: l.NQN, Host: keys.Host, Sub: keys.Sub,
		Hashes: keys.Hashes, Groups: keys.Groups, Random: rand.Reader,
	})
	q.auth.closed.Store(true)
	q.auth.timer = time.AfterFunc(authTime, func() {
		if q.auth.closed.Load() {
			q.t.log.Warn("no authentication in time", "host", host, "subsystem", l.NQN, "queue", q.qid, "from", q.conn.Remote())
			q.conn.Close()
		}
	})
	return wire.ConnectAuthRequired
}

// beginAuth judges Authentication Send and Authentication Receive.
func (q *queue) beginAuth(x *fabric.Exchange) (pull int, st wire.Status) {
	auth := x.Command.Auth()
	switch {
	case q.auth.chap == nil:
		return 0, wire.InvalidOpcode.WithDNR()
	case auth.Protocol != wire.AuthProtocol || auth.SPSP != wire.AuthSpecific:
		return 0, wire.InvalidField.WithDNR()
	case auth.Length == 0 || auth.Length > wire.MaxAuthMessage:
		return 0, wire.InvalidField.WithDNR()
	case x.Length() != int(auth.Length):
		return 0, wire.SGLInvalidLength.WithDNR()
	case auth.Receive:
		return 0, wire.Success
	}
	return int(auth.Length), wire.Success
}

// authenticate hands a message over, or fetches one. Large groups take a while,
// so a worker does it; hosts send one message after the other.
func (q *queue) authenticate(x *fabric.Exchange) {
	if !q.auth.busy.CompareAndSwap(false, true) {
		x.Complete(0, wire.CommandSequence.WithDNR())
		return
	}
	if !q.t.gate.enter() {
		return // draining: the connection ends soon
	}
	q.t.work <- job{q, x}
}

// converse does the work of authenticate.
func (q *queue) converse(x *fabric.Exchange) {
	defer q.t.gate.leave()
	if !x.Command.Auth().Receive {
		err := q.auth.chap.Send(x.Data)
		q.admitted(err)
		x.Complete(0, wire.Success) // what is wrong is told by the next message
		return
	}
	message, err := q.auth.chap.Receive()
	if err == nil && len(message) > x.Length() {
		x.Complete(0, q.unheard(wire.SGLInvalidLength.WithDNR()))
		return
	}
	if err != nil {
		q.t.log.Error("authentication", "error", err)
		x.Complete(0, q.unheard(wire.InternalError.WithDNR()))
		return
	}
	q.admitted(nil)
	page := make([]byte, x.Length())
	copy(page, message)
	reply(x, page)
}

// unheard ends a step whose message the host has not got.
func (q *queue) unheard(st wire.Status) wire.Status {
	q.auth.busy.Store(false)
	return st
}

// admitted opens or shuts the queue as the authentication stands.
func (q *queue) admitted(err error) {
	was := q.auth.closed.Load()
	q.auth.closed.Store(was && !q.auth.chap.Authenticated() || q.auth.chap.Failed() != nil)
	switch now := q.auth.closed.Load(); {
	case err != nil:
		q.t.refused.auth.Add(1)
		q.t.log.Warn("authentication failed", "reason", err, "host", q.ctrl.host.HostNQN, "subsystem", q.ctrl.host.SubNQN, "queue", q.qid, "from", q.conn.Remote())
	case was && !now:
		q.auth.timer.Stop()
		q.t.log.Info("authenticated", "host", q.ctrl.host.HostNQN, "subsystem", q.ctrl.host.SubNQN, "queue", q.qid)
	}
	q.auth.busy.Store(false)
}

// stop ends the wait for authentication.
func (g *gatekeeper) stop() {
	if g.timer != nil {
		g.timer.Stop()
	}
}
