package fabric

import (
	"errors"
	"fmt"

	"weft/internal/nvme/wire"
)

// Errors of queues; others are wrapped errors of the network or of the peer's
// making.
var (
	ErrTag     = errors.New("tag out of range or in use")
	ErrIdle    = errors.New("no command outstanding")
	ErrClosed  = errors.New("queue closed")
	ErrTimeout = errors.New("no answer in time")
)

// DoFused runs two commands as one fused operation on an idle queue of a depth of two
// or more, and blocks until both have completed. The statuses are not judged.
func DoFused(q Queue, first, second *wire.Command, a, b []byte) (both [2]wire.Completion, err error) {
	for i, half := range []struct {
		*wire.Command
		data []byte
		fuse uint8
	}{{first, a, wire.FuseFirst}, {second, b, wire.FuseSecond}} {
		half.Flags |= half.fuse
		if err := q.Submit(uint16(i), half.Command, Buffer{Bytes: half.data}); err != nil {
			return both, err
		}
	}
	var done [2]wire.Completion
	for left := 2; left > 0; {
		n, err := q.Wait(done[:left])
		if err != nil {
			return both, err
		}
		for _, c := range done[:n] {
			if int(c.CID) >= len(both) {
				return both, fmt.Errorf("completion of command %d on a queue that should be idle", c.CID)
			}
			both[c.CID] = c
		}
		left -= n
	}
	return both, nil
}

// Do runs one command on an idle queue and blocks until it has completed. The
// completion's status is not judged.
func Do(q Queue, cmd *wire.Command, data []byte) (wire.Completion, error) {
	if err := q.Submit(0, cmd, Buffer{Bytes: data}); err != nil {
		return wire.Completion{}, err
	}
	var done [1]wire.Completion
	if _, err := q.Wait(done[:]); err != nil {
		return wire.Completion{}, err
	}
	if done[0].CID != 0 {
		return wire.Completion{}, fmt.Errorf("completion of command %d on a queue that should be idle", done[0].CID)
	}
	return done[0], nil
}
