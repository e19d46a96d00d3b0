package backend

import (
	"bytes"
	"errors"
	"fmt"
	"time"
)

// fail takes a leg out after an error of b, which it is. It returns an error
// where the mirror cannot go on without it.
func (m *Mirror) fail(i int, b Backend, err error) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	l, other := &m.legs[i], &m.legs[1-i]
	switch {
	case l.b != b || l.state == LegFailed:
		return nil // another call has seen to it
	case l.state == LegInSync && other.state != LegInSync:
		return fmt.Errorf("%s, the half that is up to date: %w", l.Name, err)
	}
	// What both have written but not flushed may be missing here, too.
	for _, loose := range m.loose.copied() {
		m.dirty.mark(loose.region*regionBytes, 1)
	}
	m.owed = m.owed || l.state == LegInSync
	l.state, l.err = LegFailed, err
	m.o.Log(fmt.Sprintf("mirror: %s has failed and is left behind: %v", l.Name, err))
	m.wake()
	return m.settle()
}

// settle puts on record what is owed: before that nothing may be acknowledged
// that only one leg has. The caller holds mu.
func (m *Mirror) settle() error {
	if !m.owed {
		return nil
	}
	err := m.store(true)
	m.owed = err != nil
	return err
}

func (m *Mirror) closing() bool {
	select {
	case <-m.quit:
		return true
	default:
		return false
	}
}

func (m *Mirror) wake() {
	select {
	case m.kick <- struct{}{}:
	default:
	}
}

// repair brings back what has failed, until Close.
func (m *Mirror) repair() {
	retry := time.NewTimer(m.o.Retry)
	defer retry.Stop()
	for {
		select {
		case <-m.quit:
			return
		case <-m.kick:
		case <-retry.C:
		}
		for i := range m.legs {
			m.revive(i)
			m.rebuild(i)
		}
		retry.Reset(m.o.Retry)
	}
}

// revive opens a leg again that has failed.
func (m *Mirror) revive(i int) {
	m.mu.RLock()
	l := m.legs[i]
	m.mu.RUnlock()
	if l.state != LegFailed {
		return
	}
	if l.b != nil {
		_ = l.b.Close() // its error is known
		m.mu.Lock()
		m.legs[i].b = nil
		m.mu.Unlock()
	}
	b, err := l.Open()
	if err == nil && (b.Info().Size != m.info.Size || b.Info().BlockSize != m.info.BlockSize) {
		err = errors.Join(fmt.Errorf("%s has come back as %d bytes in blocks of %d", l.Name, b.Info().Size, b.Info().BlockSize), b.Close())
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if err != nil {
		m.legs[i].err = err
		return
	}
	m.legs[i].b, m.legs[i].state = b, LegRebuilding
	m.o.Log(fmt.Sprintf("mirror: %s is back, %d MiB behind", l.Name, m.dirty.bytes()>>20))
}

// rebuild brings a leg up to date, region by region, while both are used.
func (m *Mirror) rebuild(i int) {
	to, from := m.usable(i, LegRebuilding), m.usable(1-i, LegInSync)
	if to == nil || from == nil {
		return
	}
	for !m.closing() {
		off, n, more := m.dirty.first()
		if !more {
			m.joined(i, to)
			return
		}
		m.dirty.unmark(off) // what is written from here on goes to both
		if err := m.copyRegion(from, to, off, n); err != nil {
			m.dirty.mark(off, n)
			m.fault(i, to, err)
			return
		}
	}
	// The state file still says that this leg is behind.
}

// sourceError is an error of the leg that a rebuild reads from.
type sourceError struct{ error }

func (m *Mirror) copyRegion(from, to Backend, off, n int64) error {
	buf := make([]byte, stripeBytes)
	zero := make([]byte, stripeBytes)
	m.loose.mark(off, n) // should it fail before it is flushed
	block := int64(m.info.BlockSize)
	return m.locks.span(off, n, stripeBytes, func(off, n int64) error {
		p := buf[:n]
		if err := from.ReadBlocks(p, uint64(off/block)); err != nil {
			return &sourceError{err}
		}
		if bytes.Equal(p, zero[:n]) {
			return to.ZeroBlocks(uint64(off/block), uint64(n/block), true) // stays sparse
		}
		return to.WriteBlocks(p, uint64(off/block))
	})
}

// fault ends a rebuild that has failed, for now.
func (m *Mirror) fault(i int, to Backend, err error) {
	if s := (*sourceError)(nil); errors.As(err, &s) {
		m.mu.Lock()
		m.legs[i].err = fmt.Errorf("reading what it lacks from the other half: %w", s.error)
		m.mu.Unlock()
		return
	}
	_ = m.fail(i, to, err) // it is not in sync: the mirror goes on without
}

// joined makes a leg a full half again: nothing is dirty, and what it has is
// durable. Nobody writes meanwhile.
func (m *Mirror) joined(i int, to Backend) {
	err := m.locks.all(func() error {
		if m.dirty.bytes() > 0 {
			m.wake()
			return nil // it has failed in between
		}
		if err := to.Flush(); err != nil {
			return err
		}
		m.mu.Lock()
		defer m.mu.Unlock()
		if m.legs[i].b != to || m.legs[i].state != LegRebuilding {
			return nil
		}
		m.legs[i].state, m.legs[i].err = LegInSync, nil
		if err := m.store(true); err != nil {
			m.legs[i].state = LegRebuilding
			return err
		}
		m.o.Log(fmt.Sprintf("mirror: %s is up to date", m.legs[i].Name))
		return nil
	})
	if err != nil {
		m.fault(i, to, err)
	}
}

// Close flushes and closes both legs, and notes that they hold the same.
func (m *Mirror) Close() error {
	m.flushing.Lock()
	defer m.flushing.Unlock()
	if m.closing() {
		return nil
	}
	close(m.quit)
	m.repairer.Wait() // it needs ranges, which nobody gets from here on
	return m.locks.all(func() error {
		close(m.tasks)
		m.helpers.Wait()
		m.mu.Lock()
		defer m.mu.Unlock()
		var errs []error
		whole := true
		for i := range m.legs {
			l := &m.legs[i]
			if l.b == nil {
				continue
			}
			if l.state != LegFailed {
				err := l.b.Flush()
				whole = whole && err == nil
				errs = append(errs, err)
			}
			errs = append(errs, l.b.Close())
		}
		if whole {
			errs = append(errs, m.store(false))
		}
		for i := range m.legs {
			m.legs[i].state, m.legs[i].b = LegFailed, nil
		}
		return errors.Join(errs...)
	})
}
