package target

import (
	"errors"
	"fmt"

	"weft/internal/nvme/fabric"
	"weft/internal/nvme/psk"
	"weft/internal/nvme/wire"
)

// Offsets of fields in the Connect command, as refusals report them.
const (
	atQID    = 42
	atSQSize = 44
)

// A refusal is why a host may not connect: what it is told, and what the log
// says.
type refusal struct {
	status wire.Status
	result uint64
	reason error
}

func (r *refusal) Error() string { return r.reason.Error() }

// badField refuses a field of the Connect command or of its data.
func badField(offset uint16, inData bool, format string, args ...any) error {
	return &refusal{wire.ConnectInvalidParam.WithDNR(), wire.ConnectInvalidResult(offset, inData), fmt.Errorf(format, args...)}
}

// noController refuses an I/O queue whose controller is gone, as after a restart
// of the target. The host may try again: with do not retry it would give up its
// paths for good instead of beginning anew with an admin queue.
func noController(id uint16) error {
	return &refusal{wire.ConnectInvalidParam, wire.ConnectInvalidResult(wire.ConnectDataControllerID, true), fmt.Errorf("the host has no controller %d", id)}
}

func refuse(st wire.Status, format string, args ...any) error {
	return &refusal{st, 0, fmt.Errorf(format, args...)}
}

// connect makes the queue part of a controller, or tells the host why not.
func (q *queue) connect(x *fabric.Exchange) {
	var data wire.ConnectData
	cmd := x.Command.Connect()
	err := data.UnmarshalBinary(x.Data)
	if err == nil {
		err = q.join(cmd, &data)
	}
	if err == nil {
		result := uint64(q.ctrl.id) | q.require()
		q.t.log.Info("connected", "host", data.HostNQN, "subsystem", data.SubNQN, "controller", q.ctrl.id, "queue", q.qid, "portal", q.conn.Local(), "from", q.conn.Remote())
		x.Complete(result, wire.Success)
		return
	}
	q.t.refused.connect.Add(1)
	q.t.log.Warn("connection refused", "reason", err, "host", data.HostNQN, "subsystem", data.SubNQN, "portal", q.conn.Local(), "from", q.conn.Remote())
	var r *refusal
	if !errors.As(err, &r) {
		r = &refusal{status: wire.InternalError.WithDNR()}
	}
	x.Complete(r.result, r.status)
}

func (q *queue) join(cmd wire.ConnectCommand, data *wire.ConnectData) error {
	switch {
	case q.t.gate.isShut():
		return refuse(wire.ConnectControllerBusy, "the target is closing")
	case cmd.RecordFormat != 0:
		return refuse(wire.ConnectIncompatible.WithDNR(), "record format %d", cmd.RecordFormat)
	}
	if most := maxDepth(data.SubNQN == wire.DiscoveryNQN); cmd.SQSize == 0 || int(cmd.SQSize) >= most {
		return badField(atSQSize, false, "queue of %d entries, 2 to %d are possible", int(cmd.SQSize)+1, most)
	}
	if err := wire.ValidNQN(data.SubNQN); err != nil {
		return badField(wire.ConnectDataSubNQN, true, "subsystem: %w", err)
	}
	if err := wire.ValidNQN(data.HostNQN); err != nil {
		return badField(wire.ConnectDataHostNQN, true, "host: %w", err)
	}
	if err := q.vouched(data); err != nil {
		return err
	}
	q.t.mu.Lock()
	q.portal = q.t.portalAt(q.conn.Local())
	q.t.mu.Unlock()
	sub, err := q.t.admit(data, q.portal)
	if err != nil {
		return err
	}
	q.host, q.qid = data.HostNQN, cmd.QID
	if cmd.QID == 0 {
		err = q.joinAdmin(cmd, data, sub)
	} else {
		err = q.joinIO(cmd, data, sub)
	}
	if err != nil {
		q.leaveSeat()
	}
	return err
}

// vouched refuses names other than those for which the host has shown to have a key.
func (q *queue) vouched(data *wire.ConnectData) error {
	id := q.identity()
	if id == "" {
		return nil
	}
	_, host, sub, err := psk.ParseIdentity(id)
	if err != nil || host != data.HostNQN || sub != data.SubNQN {
		return refuse(wire.ConnectInvalidHost.WithDNR(), "its TLS key is for host %s and subsystem %s", host, sub)
	}
	return nil
}

// identity is that of the host's TLS key; "" where nothing is encrypted.
func (q *queue) identity() string {
	if c, ok := q.conn.(fabric.Secured); ok {
		return c.Identity()
	}
	return ""
}

// admit returns the subsystem that the host may connect to at a portal, nil for
// discovery, which is open to everybody. A host that is not allowed is told the
// same whether the subsystem exists or not.
func (t *Target) admit(data *wire.ConnectData, at *portal) (*subsystem, error) {
	if data.SubNQN == wire.DiscoveryNQN {
		return nil, nil
	}
	t.mu.Lock()
	sub := t.subsystems[data.SubNQN]
	t.mu.Unlock()
	no := wire.ConnectInvalidHost.WithDNR()
	if t.loading.Load() {
		no = wire.ConnectControllerBusy // the configuration that is being read may know it
	}
	if sub == nil {
		return nil, refuse(no, "there is no such subsystem")
	}
	l := sub.now.Load()
	if !l.allowed[data.HostNQN] {
		return nil, refuse(no, "the host is not in allow_hosts")
	}
	if !l.admits(data.HostNQN, at) {
		return nil, refuse(no, "it is not served at %s", at.address)
	}
	return sub, nil
}

func (q *queue) joinAdmin(cmd wire.ConnectCommand, data *wire.ConnectData, sub *subsystem) error {
	if data.ControllerID >= maxID && data.ControllerID != wire.DynamicController {
		return badField(wire.ConnectDataControllerID, true, "controller %#x is asked for, which is no number of one", data.ControllerID)
	}
	c := &controller{t: q.t, sub: sub, portal: q.portal, transport: q.conn.Transport(), tls: q.identity() != "", source: q.source(), host: *data, queues: map[uint16]*queue{0: q}}
	if sub != nil {
		if keys, has := sub.now.Load().Keys[data.HostNQN]; has {
			c.keys.Store(&keys)
		}
		if err := q.seat(true, c.keys.Load() != nil); err != nil {
			return err
		}
	}
	if err := q.t.add(c, data.ControllerID); err != nil {
		return err
	}
	q.ctrl = c
	c.watch(cmd.KATO)
	switch {
	case sub == nil:
		q.t.receive(&q.t.visitors, c)
	case c.keys.Load() != nil:
		q.t.receive(&q.t.unproven, c)
	}
	return nil
}

// receive has a controller wait among those whose hosts nobody vouches for. One of
// them may have to leave for it.
func (t *Target) receive(l *fabric.Lobby[*controller], c *controller) {
	if out, why := l.Enter(c, c.source, c.host.HostNQN); why != "" {
		out.end(why)
	}
}

// source is where the queue comes from, for limits.
func (q *queue) source() string { return fabric.Source(q.conn.Remote()) }

func (q *queue) joinIO(cmd wire.ConnectCommand, data *wire.ConnectData, sub *subsystem) error {
	q.t.mu.Lock()
	c := q.t.controllers[controllerKey{sub, data.ControllerID}]
	q.t.mu.Unlock()
	switch {
	case c == nil || c.sub != sub || c.host.HostNQN != data.HostNQN || c.host.HostID != data.HostID:
		return noController(data.ControllerID)
	case sub == nil || cmd.QID > maxQueues:
		return badField(atQID, false, "queue %d is impossible", cmd.QID)
	case !c.ready.Load():
		return refuse(c.unready(), "controller %d is not enabled", c.id)
	}
	if err := q.seat(false, false); err != nil {
		return err
	}
	if err := c.attach(cmd.QID, q); err != nil {
		return err
	}
	q.ctrl = c
	return nil
}

// controllerKey is a controller's id in its subsystem; nil: discovery.
type controllerKey struct {
	sub *subsystem
	id  uint16
}

func (c *controller) key() controllerKey { return controllerKey{c.sub, c.id} }

// add gives a controller the id that its host has asked for, or one that no other
// has. It refuses when that one is taken, when there are too many, and when a reload
// has come in between that has no place for it.
func (t *Target) add(c *controller, want uint16) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case len(t.controllers) >= maxControllers:
		return refuse(wire.ConnectControllerBusy, "too many controllers are connected")
	case c.sub != nil && (t.subsystems[c.sub.nqn] != c.sub || !c.sub.now.Load().admits(c.host.HostNQN, c.portal)):
		return refuse(wire.ConnectControllerBusy, "the configuration has just changed")
	}
	if c.id = want; want == wire.DynamicController {
		c.id = t.freeID(c.sub)
	} else if t.controllers[c.key()] != nil {
		return refuse(wire.ConnectControllerBusy, "controller %d, which it asks for, is another connection's", want)
	}
	t.controllers[c.key()] = c
	return nil
}

// freeID is an id that no controller of a subsystem has. The caller holds mu.
func (t *Target) freeID(sub *subsystem) uint16 {
	for {
		if t.lastID++; t.lastID < firstID || t.lastID >= maxID {
			t.lastID = firstID
		}
		if t.controllers[controllerKey{sub, t.lastID}] == nil {
			return t.lastID
		}
	}
}

// Ids of controllers: those that hosts have not chosen, as Windows does, are from
// firstID on, so that they seldom meet; from maxID on ids have a meaning of their
// own.
const (
	firstID = 0x100
	maxID   = 0xfff0
)

func (t *Target) remove(c *controller) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.controllers[c.key()] == c {
		delete(t.controllers, c.key())
	}
}
