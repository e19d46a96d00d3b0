package verbs

import (
	"fmt"

	"weft/internal/hint"
)

// The kinds of asynchronous events that end queues, of ibv_event_type. Others
// tell of what passes by itself, or of what is not used here. A port that goes
// down ends none: a short time of it a connection outlives by sending again, as
// it does in the kernel's hosts and targets.
const (
	asyncCQError     = 0
	asyncQPFatal     = 1
	asyncQPRequest   = 2
	asyncQPAccess    = 3
	asyncDeviceFatal = 8
)

// asyncEvent is an ibv_async_event: what a device tells without being asked.
type asyncEvent struct {
	subject uint64 // a queue, where the kind is about one
	kind    uint32
}

// get reads an ibv_async_event.
func (e *asyncEvent) get(b []byte) {
	*e = asyncEvent{subject: le.Uint64(b), kind: le.Uint32(b[asyncKind:])}
}

// ends is why a queue pair with its completion queue is of no use after an event;
// nil: the event does not concern it.
func (e asyncEvent) ends(device string, qp, cq uintptr) error {
	switch {
	case e.kind == asyncDeviceFatal:
		return DeviceFailed(device)
	case e.kind == asyncCQError && e.subject == uint64(cq):
		return fmt.Errorf("completion queue on %s: %w", device, ErrQueue)
	case (e.kind == asyncQPFatal || e.kind == asyncQPRequest || e.kind == asyncQPAccess) && e.subject == uint64(qp):
		return fmt.Errorf("queue pair on %s: %w", device, ErrQueue)
	}
	return nil
}

// DeviceFailed is for providers: the ErrDevice of a device.
func DeviceFailed(device string) error {
	return hint.Wrap(fmt.Errorf("%s: %w", device, ErrDevice), "the kernel log says why: dmesg; rdma link show says whether the device is back")
}
