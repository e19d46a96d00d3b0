package target

import (
	"crypto/rand"
	"sync/atomic"
	"time"

	"weft/internal/nvme/dhchap"
	"weft/internal/nvme/fabric"
	"weft/internal/nvme/wire"
)

const (
	// authTime is how long a host may take to authenticate a queue.
	authTime = 30 * time.Second

	// lastWord is how long a host that was authenticated and then failed to do it
	// again may take to fetch why: its commands fail already, so the sooner it
	// begins anew the better.
	lastWord = time.Second

	// maxUnproven is how many controllers may wait for that: whoever knows the name
	// of a host can have them, so they must leave room for others.
	maxUnproven = 256
)

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

// require makes a queue ask for authentication where its controller has keys. It
// returns what the result of Connect says about it.
func (q *queue) require() (result uint64) {
	if q.ctrl.keys.Load() == nil {
		return 0
	}
	q.auth.chap = dhchap.NewController(q.peer())
	q.auth.closed.Store(true)
	q.auth.timer = time.AfterFunc(authTime, func() {
		if q.auth.closed.Load() {
			q.t.log.Warn("no authentication in time", "host", q.ctrl.host.HostNQN, "subsystem", q.ctrl.host.SubNQN, "queue", q.qid, "from", q.conn.Remote())
			q.conn.Close()
		}
	})
	return wire.ConnectAuthRequired
}

// peer says who authenticates to whom. A controller keeps the keys that it was
// connected with until its host authenticates the admin queue anew, which is how
// new keys come to both ends without a connection lost: first here, then there.
// I/O queues go by the keys of their controller. A host that has no keys any more
// must still prove those of its controller.
func (q *queue) peer() dhchap.Peer {
	if q.qid == 0 {
		if keys, has := q.ctrl.sub.now.Load().Keys[q.ctrl.host.HostNQN]; has {
			q.ctrl.keys.Store(&keys)
		}
	}
	keys := q.ctrl.keys.Load()
	return dhchap.Peer{
		HostNQN: q.ctrl.host.HostNQN, SubNQN: q.ctrl.host.SubNQN, Host: keys.Host, Sub: keys.Sub,
		Hashes: keys.Hashes, Groups: keys.Groups, Random: rand.Reader,
	}
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

// authenticate hands a message over, or fetches one. A prover does the work;
// hosts send one message after the other.
func (q *queue) authenticate(x *fabric.Exchange) {
	if !q.auth.busy.CompareAndSwap(false, true) {
		x.Complete(0, wire.CommandSequence.WithDNR())
		return
	}
	if !q.t.gate.enter() {
		return // draining: the connection ends soon
	}
	if !q.t.proving.offer(job{queue: q, x: x}, sourceProofs) {
		q.auth.busy.Store(false)
		q.t.gate.leave()
		x.Complete(0, wire.CommandInterrupted) // too many at once: come again
	}
}

// converse does the work of authenticate.
func converse(j job) {
	q, x := j.queue, j.x
	defer q.t.gate.leave()
	if !x.Command.Auth().Receive {
		q.auth.chap.Renew(q.peer())
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
	now := q.auth.closed.Load()
	if !was && now {
		q.auth.timer.Reset(lastWord)
	}
	switch {
	case err != nil:
		q.t.refused.auth.Add(1)
		q.t.log.Warn("authentication failed", "reason", err, "host", q.ctrl.host.HostNQN, "subsystem", q.ctrl.host.SubNQN, "queue", q.qid, "from", q.conn.Remote())
	case was && !now:
		q.settleAuth()
		q.claimSeat()
		q.t.log.Info("authenticated", "host", q.ctrl.host.HostNQN, "subsystem", q.ctrl.host.SubNQN, "queue", q.qid)
	}
	q.auth.busy.Store(false)
}

// settleAuth ends the wait for authentication.
func (q *queue) settleAuth() {
	if q.auth.timer != nil {
		q.auth.timer.Stop()
	}
	if q.qid == 0 && q.ctrl != nil {
		q.t.unproven.Leave(q.ctrl)
	}
}
