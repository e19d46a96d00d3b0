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
		c.abort(x)
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
		switch {
		case c.sub == nil || f.Value&0xffff == 0xffff || f.Value>>16 == 0xffff:
			return 0, wire.InvalidField.WithDNR()
		case c.hasQueued():
			return 0, wire.CommandSequence.WithDNR() // Base 1.4 section 5.21.1.7
		}
		// Each queue pair is one connection, so both counts are the same.
		n := min(want.Submission, want.Completion, maxQueues, max(1, c.t.queueSeats.left(c.host.HostNQN)))
		return wire.QueueCounts{Submission: n, Completion: n}.Value(), wire.Success
	case wire.FeatureKeepAlive:
		c.watch(f.Value)
		return 0, wire.Success
	case wire.FeatureAsyncEvents:
		if f.Value&reservedEvents != 0 {
			return 0, wire.InvalidField.WithDNR()
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		c.enabled = f.Value
		return 0, wire.Success
	case wire.FeatureHostID:
		return 0, wire.CommandSequence.WithDNR() // it came with Connect
	case wire.FeatureTemperature:
		if c.sub != nil {
			return 0, wire.FeatureNotChangeable.WithDNR()
		}
	}
	if _, fixed := c.fixedFeature(f.FID); fixed {
		return 0, wire.FeatureNotChangeable.WithDNR()
	}
	return 0, wire.InvalidField.WithDNR()
}

// reservedEvents are the bits of Asynchronous Event Configuration that mean
// nothing. Base 1.4 section 5.21.1.11.
const reservedEvents = 3<<6 | 0xffff<<15

// fixedFeature is the value of a feature that hosts can ask for and not change:
// those that an I/O controller must have (Base 1.4 section 5.21.1), and the write
// cache. Those of interrupts are not for fabrics.
func (c *controller) fixedFeature(fid uint8) (value uint32, ok bool) {
	if c.sub == nil {
		return 0, false
	}
	switch fid {
	case wire.FeatureArbitration:
		return 7, true // no limit to a burst
	case wire.FeaturePower, // the only state
		wire.FeatureErrorRecov, // no time limit, and blocks without data are no error
		wire.FeatureAtomicity:  // writes of more than one block may be torn by a loss of power, as AWUN says
		return 0, true
	case wire.FeatureWriteCache:
		return 1, true
	}
	return 0, false
}

// threshold is that of a temperature: there is no sensor but the composite one, and
// it never trips. Base 1.4 section 5.21.1.4.
func threshold(f wire.FeatureCommand) (uint32, wire.Status) {
	const over, under = 0, 1
	sensor, kind := f.Value>>16&15, f.Value>>20&3
	switch {
	case sensor != 0 || kind > under:
		return 0, wire.InvalidField.WithDNR()
	case kind == over:
		return 0xffff, wire.Success
	}
	return 0, wire.Success
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
	fixed, isFixed := c.fixedFeature(f.FID)
	switch {
	case f.FID == wire.FeatureKeepAlive:
		current = uint32(alive / time.Millisecond)
	case f.FID == wire.FeatureAsyncEvents:
		current = events
	case f.FID == wire.FeatureQueues && c.sub != nil:
		current = wire.QueueCounts{Submission: maxQueues, Completion: maxQueues}.Value()
		initial = current
	case f.FID == wire.FeatureTemperature && c.sub != nil:
		var st wire.Status
		if current, st = threshold(f); st != wire.Success {
			x.Complete(0, st)
			return
		}
		initial = current
	case isFixed:
		current, initial = fixed, fixed
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
