package target

import (
	"time"

	"weft/internal/nvme/fabric"
	"weft/internal/nvme/wire"
)

// beginAdmin judges an admin command: is it known, is the controller ready for
// it, and does the host expect as much data as the answer has?
func (q *queue) beginAdmin(x *fabric.Exchange) wire.Status {
	want := 0
	switch x.Command.Opcode {
	case wire.OpIdentify:
		want = wire.IdentifySize
	case wire.OpGetLogPage:
		length := x.Command.GetLogPage().Length
		if length > MaxTransfer {
			return wire.InvalidField.WithDNR()
		}
		want = int(length)
	case wire.OpGetFeatures:
		if f := x.Command.Feature(); f.FID == wire.FeatureHostID {
			want = len(q.ctrl.host.HostID)
		}
	case wire.OpSetFeatures:
		want = x.Length() // features that bring data are refused, with or without it
	case wire.OpAsyncEvent, wire.OpKeepAlive, wire.OpAbort:
	default:
		return wire.InvalidOpcode.WithDNR()
	}
	switch {
	case !q.ctrl.ready.Load():
		return wire.CommandSequence.WithDNR()
	case x.Length() != want:
		return wire.SGLInvalidLength.WithDNR()
	}
	return wire.Success
}

// admin performs an admin command.
func (c *controller) admin(x *fabric.Exchange) {
	switch x.Command.Opcode {
	case wire.OpIdentify:
		c.identify(x)
	case wire.OpGetLogPage:
		c.getLogPage(x)
	case wire.OpSetFeatures:
		result, st := c.setFeature(x.Command.Feature())
		x.Complete(uint64(result), st)
	case wire.OpGetFeatures:
		c.getFeature(x)
	case wire.OpAsyncEvent:
		c.holdAER(x)
	case wire.OpAbort:
		x.Complete(1, wire.Success) // not aborted: it runs to its end
	default:
		x.Complete(0, wire.Success) // keep alive: Begin has noted the sign of life
	}
}

// holdAER keeps the request until there is an event, which is never as long as
// a configuration is served unchanged.
func (c *controller) holdAER(x *fabric.Exchange) {
	c.mu.Lock()
	hold := len(c.aers) < maxAERs
	if hold && !c.ended {
		c.aers = append(c.aers, x)
	}
	c.mu.Unlock()
	if !hold {
		x.Complete(0, wire.AERLimitExceeded.WithDNR())
	}
}

func (c *controller) setFeature(f wire.FeatureCommand) (result uint32, st wire.Status) {
	if f.Save {
		return 0, wire.FeatureNotSaveable.WithDNR()
	}
	switch f.FID {
	case wire.FeatureQueues:
		want := wire.QueueCountsOf(f.Value)
		if c.sub == nil || f.Value&0xffff == 0xffff || f.Value>>16 == 0xffff {
			return 0, wire.InvalidField.WithDNR()
		}
		// Each queue pair is one connection, so both counts are the same.
		n := min(want.Submission, want.Completion, maxQueues)
		return wire.QueueCounts{Submission: n, Completion: n}.Value(), wire.Success
	case wire.FeatureKeepAlive:
		c.watch(f.Value)
		return 0, wire.Success
	case wire.FeatureAsyncEvents:
		c.mu.Lock()
		defer c.mu.Unlock()
		c.events = f.Value
		return 0, wire.Success
	case wire.FeatureHostID:
		return 0, wire.CommandSequence.WithDNR() // it came with Connect
	case wire.FeatureWriteCache:
		return 0, wire.FeatureNotChangeable.WithDNR()
	}
	return 0, wire.InvalidField.WithDNR()
}

func (c *controller) getFeature(x *fabric.Exchange) {
	f := x.Command.Feature()
	if f.Sel != 0 {
		x.Complete(0, wire.InvalidField.WithDNR())
		return
	}
	c.mu.Lock()
	alive, events := c.alive, c.events
	c.mu.Unlock()
	switch f.FID {
	case wire.FeatureKeepAlive:
		x.Complete(uint64(alive/time.Millisecond), wire.Success)
		return
	case wire.FeatureAsyncEvents:
		x.Complete(uint64(events), wire.Success)
		return
	case wire.FeatureQueues:
		if c.sub != nil {
			x.Complete(uint64(wire.QueueCounts{Submission: maxQueues, Completion: maxQueues}.Value()), wire.Success)
			return
		}
	case wire.FeatureWriteCache:
		if c.sub != nil {
			x.Complete(1, wire.Success)
			return
		}
	case wire.FeatureHostID:
		if x.Command.CDW11&1 != 0 { // the extended form, the only one over fabrics
			reply(x, c.host.HostID[:])
			return
		}
	}
	x.Complete(0, wire.InvalidField.WithDNR())
}

func (c *controller) getLogPage(x *fabric.Exchange) {
	log := x.Command.GetLogPage()
	switch {
	case c.sub != nil || log.LID != wire.LogDiscovery:
		x.Complete(0, wire.InvalidLogPage.WithDNR())
		return
	case log.Index || log.Offset%4 != 0:
		x.Complete(0, wire.InvalidField.WithDNR())
		return
	}
	c.mu.Lock()
	portal := ""
	if q := c.queues[0]; q != nil {
		portal = q.conn.Local()
	}
	c.mu.Unlock()
	page, err := c.t.discoveryLog(c.host.HostNQN, portal)
	switch {
	case err != nil:
		c.t.log.Error("discovery log", "error", err)
		x.Complete(0, wire.InternalError.WithDNR())
		return
	case log.Offset > uint64(len(page)):
		x.Complete(0, wire.InvalidField.WithDNR())
		return
	}
	part := make([]byte, log.Length) // zeroes beyond the end of the log
	copy(part, page[log.Offset:])
	reply(x, part)
}
