package load

// flushed is what a job knows to be durable, where the device may lose the rest
// when a path is lost. Its zero value is of a device that loses nothing.
type flushed struct {
	lane   Lossy
	losses int
	lost   bool // since the last settle

	stable []uint32 // generation of each place that a flush has covered

	// The flush under way that counts, if any: what was acknowledged when it
	// began. Others that begin meanwhile are sent and count for nothing.
	slot    int // -1: none
	covered []uint32
}

func newFlushed(lane Lossy, places uint64) flushed {
	return flushed{lane: lane, losses: lane.Losses(), slot: -1, stable: make([]uint32, places), covered: make([]uint32, places)}
}

func (f *flushed) begin(k *checks, slot int) {
	if f.lane != nil && f.slot < 0 {
		f.slot = slot
		copy(f.covered, k.acked)
	}
}

func (f *flushed) end(slot int, failed error) {
	if f.lane == nil || f.slot != slot {
		return
	}
	f.slot = -1
	if failed == nil {
		copy(f.stable, f.covered)
	}
}

// lookForLoss is called before completions are looked at: of a flush that was
// under way when a path was lost nobody knows whether it came before the loss, or
// was sent again after it and found nothing left to flush.
func (k *checks) lookForLoss() {
	f := &k.flushed
	if f.lane == nil {
		return
	}
	if now := f.lane.Losses(); now != f.losses {
		f.losses, f.lost, f.slot = now, true, -1
		k.fallBack() // for what was read after the loss
	}
}

// settle is called after they were looked at.
func (k *checks) settle() {
	if k.flushed.lost {
		k.flushed.lost = false
		k.fallBack() // from what was written before the loss
	}
}

// fallBack is for after a loss: only what was flushed has to be there, and
// anything newer may.
func (k *checks) fallBack() {
	copy(k.acked, k.flushed.stable)
	clear(k.seen)
}
