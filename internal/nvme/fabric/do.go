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
