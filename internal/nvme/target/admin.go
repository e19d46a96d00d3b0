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
		if length > uint64(q.ctrl.maxTransfer()) {
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
		return q.ctrl.unready()
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

func (c *controller) setFeature(f wire.FeatureCommand) (result uint32, st wire.Status) {
	switch {
	case f.Save:
		return 0, wire.FeatureNotSaveable.WithDNR()
	case f.NSID != 0 && f.NSID != wire.NSIDAll && changeable(f.FID):
		return 0, wire.FeatureNotNSSpecific.WithDNR()
	}
	switch f.FID {
	case wire.FeatureQueues:
		want := wire.QueueCountsOf(f.Value)
		if c.sub == nil || f.Value&0xffff == 0xffff || f.Value>>16 == 0xffff {
			return 0, wire.InvalidField.WithDNR()
		}
		// Each queue pair is one connection, so both counts are the same.
		n := min(want.Submission, want.Completion, maxQueues, max(1, c.t.queueSeats.left(c.host.HostNQN)))
		return wire.QueueCounts{Submission: n, Completion: n}.Value(), wire.Success
	case wire.FeatureKeepAlive:
		c.watch(f.Value)
		return 0, wire.Success
	case wire.FeatureAsyncEvents:
		c.mu.Lock()
		defer c.mu.Unlock()
		c.enabled = f.Value
		return 0, wire.Success
	case wire.FeatureHostID:
		return 0, wire.CommandSequence.WithDNR() // it came with Connect
	case wire.FeatureWriteCache:
		return 0, wire.FeatureNotChangeable.WithDNR()
	}
	return 0, wire.InvalidField.WithDNR()
}

// changeable says whether hosts can set a feature.
func changeable(fid uint8) bool {
	return fid == wire.FeatureQueues || fid == wire.FeatureKeepAlive || fid == wire.FeatureAsyncEvents
}

// What Get Features is asked for. Base section 5.15.
const (
	selectCurrent   = 0
	selectDefault   = 1
	selectSupported = 3
)

// getFeature performs Get Features.
func (c *controller) getFeature(x *fabric.Exchange) {
	f := x.Command.Feature()
	if f.FID == wire.FeatureHostID {
		// The extended form is the only one over fabrics.
		if f.Sel == selectCurrent && f.Value&1 != 0 {
			reply(x, c.host.HostID[:])
		} else {
			x.Complete(0, wire.InvalidField.WithDNR())
		}
		return
	}
	c.mu.Lock()
	alive, events := c.alive, c.enabled
	c.mu.Unlock()
	var current, initial uint32
	switch {
	case f.FID == wire.FeatureKeepAlive:
		current = uint32(alive / time.Millisecond)
	case f.FID == wire.FeatureAsyncEvents:
		current = events
	case f.FID == wire.FeatureQueues && c.sub != nil:
		current = wire.QueueCounts{Submission: maxQueues, Completion: maxQueues}.Value()
		initial = current
	case f.FID == wire.FeatureWriteCache && c.sub != nil:
		current, initial = 1, 1
	default:
		x.Complete(0, wire.InvalidField.WithDNR())
		return
	}
	switch f.Sel {
	case selectCurrent:
		x.Complete(uint64(current), wire.Success)
	case selectDefault:
		x.Complete(uint64(initial), wire.Success)
	case selectSupported:
		can := uint64(0)
		if changeable(f.FID) {
			can = 1 << 2
		}
		x.Complete(can, wire.Success)
	default:
		x.Complete(0, wire.InvalidField.WithDNR()) // nothing is saved
	}
}
