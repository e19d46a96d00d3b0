package backend

import (
	"cmp"
	"errors"
	"fmt"
	"sync"
	"time"
)

// A Leg is one half of a mirror.
type Leg struct {
	Name string                  // as people know it, and as the state file does
	Open func() (Backend, error) // also to come back after a failure
}

// MirrorOptions say how a mirror is kept.
type MirrorOptions struct {
	Legs  [2]Leg
	State string        // file that says which leg is good; see OpenMirror
	Retry time.Duration // between attempts to have a failed leg back; 0 is 5 s
	Log   func(string)  // is told when a leg fails or comes back; may be nil
}

// A LegState is how one half of a mirror is.
type LegState string

// The states of a leg.
const (
	LegInSync     LegState = "in sync"
	LegRebuilding LegState = "rebuilding" // it lacks what MirrorStatus.Behind counts
	LegFailed     LegState = "failed"
)

// MirrorStatus is how a mirror is.
type MirrorStatus struct {
	Legs   [2]LegState
	Behind int64 // bytes that one leg lacks, rounded up
	Err    error // the last one of a leg that is not in sync
}

// A Mirror keeps blocks twice. It goes on with one leg when the other fails,
// notes what that one misses, opens it again and brings it up to date while it
// is used.
type Mirror struct {
	o     MirrorOptions
	info  Info
	locks stripes // of a range while both legs are written, so that they agree
	dirty *regions
	loose *regions // written since the last flush of both legs
	kick  chan struct{}
	quit  chan struct{}
	tasks chan task

	helpers, repairer sync.WaitGroup

	mu   sync.RWMutex // guards what follows
	legs [2]leg
	owed bool // the state file does not yet say that a leg is behind

	flushing sync.Mutex // one flush at a time; never locked with a range owned
}

// leg is a Leg at work.
type leg struct {
	Leg
	b     Backend // nil while it has failed
	state LegState
	err   error
}

// task is one leg's part of a call, for a helper.
type task struct {
	do   func() error
	done chan<- error
}

// mirrorHelpers work on the second leg while callers work on the first.
const mirrorHelpers = 16

// OpenMirror opens both legs, which must have the same shape. The state file
// says whether both hold the same: after a crash, or without the file, the
// first leg is taken as it is and the second is brought up to date from it;
// after a leg has failed, the good one is. A mirror opens with one leg, but
// never with only the one that was left behind.
func OpenMirror(o MirrorOptions) (*Mirror, error) {
	o.Retry = cmp.Or(o.Retry, 5*time.Second)
	if o.Log == nil {
		o.Log = func(string) {}
	}
	m := &Mirror{o: o, kick: make(chan struct{}, 1), quit: make(chan struct{}), tasks: make(chan task)}
	if err := m.open(); err != nil {
		for _, l := range m.legs {
			if l.b != nil {
				err = errors.Join(err, l.b.Close())
			}
		}
		return nil, fmt.Errorf("mirror: %w", err)
	}
	for range mirrorHelpers {
		m.helpers.Go(func() {
			for t := range m.tasks {
				t.done <- t.do()
			}
		})
	}
	m.repairer.Go(m.repair)
	return m, nil
}

// open opens the legs and finds out which of them is good.
func (m *Mirror) open() error {
	was, err := readMirrorState(m.o.State)
	if err != nil {
		return err
	}
	for i, l := range m.o.Legs {
		m.legs[i] = leg{Leg: l, state: LegInSync}
		if m.legs[i].b, m.legs[i].err = l.Open(); m.legs[i].err != nil {
			m.legs[i].b, m.legs[i].state = nil, LegFailed
		}
	}
	good := was.good(m.o.Legs)
	if m.legs[good].b == nil && was.agree(m.o.Legs) {
		good = 1 - good // either will do
	}
	if m.legs[good].b == nil {
		return fmt.Errorf("%s, the half that is up to date, cannot be opened: %w", m.legs[good].Name, m.legs[good].err)
	}
	m.info = m.legs[good].b.Info()
	m.info.MayBlock = true
	m.dirty, m.loose = newRegions(m.info.Size), newRegions(m.info.Size)
	other := &m.legs[1-good]
	switch {
	case other.b == nil:
		m.dirty.all()
	case other.b.Info().Size != m.info.Size || other.b.Info().BlockSize != m.info.BlockSize:
		return fmt.Errorf("%s holds %d bytes in blocks of %d, %s %d in blocks of %d", m.legs[good].Name, m.info.Size, m.info.BlockSize,
			other.Name, other.b.Info().Size, other.b.Info().BlockSize)
	case !was.clean(m.o.Legs):
		other.state = LegRebuilding
		m.dirty.all()
		m.wake()
	}
	if other.state == LegFailed {
		m.wake()
	}
	return m.store(true)
}

// Info is the shape of both legs.
func (m *Mirror) Info() Info { return m.info }

// Status is how the mirror is now.
func (m *Mirror) Status() MirrorStatus {
	m.mu.RLock()
	defer m.mu.RUnlock()
	s := MirrorStatus{Behind: m.dirty.bytes()}
	for i, l := range m.legs {
		s.Legs[i] = l.state
		if l.state != LegInSync {
			s.Err = l.err
		}
	}
	return s
}

// usable is a leg if it is in one of some states, else nil.
func (m *Mirror) usable(i int, states ...LegState) Backend {
	m.mu.RLock()
	defer m.mu.RUnlock()
	for _, s := range states {
		if m.legs[i].state == s {
			return m.legs[i].b
		}
	}
	return nil
}

// nothing is the error of a mirror of which no half is left.
func (m *Mirror) nothing() error {
	if m.closing() {
		return ErrClosed
	}
	return errors.New("no half of the mirror is left that is up to date")
}

// ReadBlocks reads from one of the legs that are in sync, in turn by where the
// blocks are, and from the other where that fails.
func (m *Mirror) ReadBlocks(p []byte, lba uint64) error {
	off, err := m.info.offset(len(p), lba)
	if err != nil {
		return err
	}
	return m.locks.each(p, off, false, m.readPart)
}

// readPart reads a part of one stripe, whose lock is held.
func (m *Mirror) readPart(part []byte, off int64) error {
	at := uint64(off) / uint64(m.info.BlockSize)
	first := int(off / stripeBytes % 2)
	last := m.nothing()
	for _, i := range [2]int{first, 1 - first} {
		b := m.usable(i, LegInSync)
		if b == nil {
			continue
		}
		err := b.ReadBlocks(part, at)
		if err == nil {
			return nil
		}
		if err := m.fail(i, b, err); err != nil {
			last = err
		}
	}
	return last
}

// WriteBlocks writes to both legs.
func (m *Mirror) WriteBlocks(p []byte, lba uint64) error {
	off, err := m.info.offset(len(p), lba)
	if err != nil {
		return err
	}
	return m.locks.each(p, off, true, m.writePart)
}

// writePart writes a part of one stripe, which the caller owns, to both legs.
func (m *Mirror) writePart(part []byte, off int64) error {
	at := uint64(off) / uint64(m.info.BlockSize)
	return m.change(off, int64(len(part)), func(b Backend) error { return b.WriteBlocks(part, at) })
}

// CompareAndWrite compares with one leg and writes to both.
func (m *Mirror) CompareAndWrite(want, p []byte, lba uint64) (same bool, err error) {
	off, err := m.info.block(want, p, lba)
	if err != nil {
		return false, err
	}
	return m.locks.swap(want, p, off, m.readPart, m.writePart)
}

// ZeroBlocks zeroes both legs.
func (m *Mirror) ZeroBlocks(lba, n uint64, free bool) error {
	off, length, err := m.info.span(lba, n)
	if err != nil {
		return err
	}
	block := int64(m.info.BlockSize)
	return m.locks.span(off, length, zeroedAtOnce(free), func(off, n int64) error {
		return m.change(off, n, func(b Backend) error { return b.ZeroBlocks(uint64(off/block), uint64(n/block), free) })
	})
}

// change does the same to both legs, whose range the caller owns. It succeeds
// with one of them that is in sync, once it is on record that the other is not.
func (m *Mirror) change(off, n int64, do func(Backend) error) error {
	m.loose.mark(off, n)
	legs := m.present()
	if legs[0] == nil || legs[1] == nil {
		m.dirty.mark(off, n)
	}
	err := m.both(legs, do)
	// Marked again: a flush in between has seen the first mark, but not what
	// was written. And who has failed in between may have lost it.
	m.loose.mark(off, n)
	if err != nil || m.lost(legs) {
		m.dirty.mark(off, n)
	}
	return err
}

// present are the legs that take writes; nil for others.
func (m *Mirror) present() (b [2]Backend) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	for i, l := range m.legs {
		if l.state != LegFailed {
			b[i] = l.b
		}
	}
	return b
}

// lost says that a leg which was written is not what it was.
func (m *Mirror) lost(was [2]Backend) bool {
	m.mu.RLock()
	defer m.mu.RUnlock()
	for i, l := range m.legs {
		if l.state == LegFailed || l.b != was[i] {
			return true
		}
	}
	return false
}

// both calls do for the legs that are there, at the same time.
func (m *Mirror) both(b [2]Backend, do func(Backend) error) error {
	var errs [2]error
	switch {
	case b[0] != nil && b[1] != nil:
		done := make(chan error, 1)
		m.tasks <- task{func() error { return do(b[1]) }, done}
		errs[0] = do(b[0])
		errs[1] = <-done
	case b[0] != nil:
		errs[0] = do(b[0])
	case b[1] != nil:
		errs[1] = do(b[1])
	}
	for i, err := range errs {
		if err == nil {
			continue
		}
		if err := m.fail(i, b[i], err); err != nil {
			return err
		}
	}
	if m.usable(0, LegInSync) == nil && m.usable(1, LegInSync) == nil {
		return m.nothing()
	}
	m.mu.RLock()
	owed := m.owed
	m.mu.RUnlock()
	if !owed {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.settle()
}

// Flush flushes both legs.
func (m *Mirror) Flush() error {
	m.flushing.Lock()
	defer m.flushing.Unlock()
	if m.closing() {
		return ErrClosed
	}
	before := m.loose.copied() // what is written from now on stays loose
	err := m.both(m.present(), Backend.Flush)
	if err == nil && m.usable(0, LegInSync) != nil && m.usable(1, LegInSync) != nil {
		m.loose.clear(before)
	}
	return err
}
