package load

import (
	"encoding/binary"
	"fmt"

	"weft/internal/nvme/initiator"
	"weft/internal/nvme/wire"
)

// tail is how much of the end of a device is looked at: copies of partition tables and
// superblocks of arrays stand there.
const tail = 1 << 20

// A ForeignError says that a device holds something that no load has written, so that
// nothing was written.
type ForeignError struct{ What string }

func (e *ForeignError) Error() string {
	return e.What + ": it is neither blank nor of a load, so nothing was written"
}

// look reads every place of a job, and the first job the end of the device.
func (j *job) look() error {
	k := j.checks
	k.looking = true
	err := j.sweep(wire.OpRead)
	k.looking = false
	failed := j.result.Read.Failed
	j.result.Read.Failed = 0
	switch {
	case err != nil:
		return err
	case failed > 0:
		return fmt.Errorf("%d reads of what would be overwritten failed, so nothing was written: %w", failed, j.result.First)
	case k.foreign == "" && j.first == 0:
		if err := j.lookAtTail(); err != nil {
			return err
		}
	}
	if k.foreign != "" {
		return &ForeignError{k.foreign}
	}
	return nil
}

// lookAt judges the blocks of a read.
func (k *checks) lookAt(j *job, s *slot) {
	k.judgeForeign(j, (j.first+s.place)*uint64(j.blocks), s.buf)
}

func (k *checks) judgeForeign(j *job, lba uint64, buf []byte) {
	size := j.r.o.BlockSize
	for i := range j.blocks {
		b := buf[i*size:][:size]
		if k.foreign == "" && !zero(b) && !ofLoad(b) {
			k.foreign = fmt.Sprintf("block %d is not empty", lba+uint64(i))
		}
	}
}

// ofLoad reports whether a load has written a block, whole or, as machines lose power,
// in part.
func ofLoad(b []byte) bool {
	return binary.LittleEndian.Uint64(b) == blockMagic || binary.LittleEndian.Uint64(b[len(b)-8:]) == blockMagic
}

// lookAtTail reads the end of the device.
func (j *job) lookAtTail() error {
	o := &j.r.o
	buf := j.slots[0].buf
	all := o.Capacity / uint64(o.Size)
	for p := all - min(all, uint64(tail/o.Size+1)); p < all; p++ {
		if j.r.stop.Load() {
			return nil
		}
		lba := p * uint64(j.blocks)
		if p == all-1 { // whole commands may leave the last blocks out
			lba = o.Capacity/uint64(o.BlockSize) - uint64(j.blocks)
		}
		if err := j.readOne(lba, buf); err != nil {
			return fmt.Errorf("read the end of the device, so nothing was written: %w", err)
		}
		j.checks.judgeForeign(j, lba, buf)
	}
	return nil
}

// readOne reads and waits for it; nothing else is under way.
func (j *job) readOne(lba uint64, buf []byte) error {
	if err := j.lane.Submit(0, wire.OpRead, lba, j.blocks, buf); err != nil {
		return err
	}
	var done [1]initiator.Done
	for {
		n, err := j.lane.Wait(j.r.ctx, done[:], true)
		if err != nil {
			return err
		}
		if n > 0 {
			return done[0].Err
		}
	}
}
