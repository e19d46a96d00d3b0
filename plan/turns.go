package plan

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
)

// turns are taken by devices that interrupt what hosts do: few are worked on at
// a time, and no more begin once too many of them have failed.
//
// A turn is held like a slot, never while waiting for another device, so that
// devices which need each other cannot lock each other out. Whoever fails keeps
// it until it was reverted.
type turns struct {
	places chan struct{} // one token for each device at work
	spare  int           // how many may fail

	mu     sync.Mutex
	failed []string // addresses
}

func newTurns(in *Input) *turns {
	return &turns{places: make(chan struct{}, max(in.Unavailable, 1)), spare: in.Failures}
}

// fail notes a device that has failed by itself. It is called with the turn
// held, so that whoever comes next knows.
func (t *turns) fail(address string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !slices.Contains(t.failed, address) {
		t.failed = append(t.failed, address)
	}
}

// over says why no device may begin any more.
func (t *turns) over() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.failed) <= t.spare {
		return nil
	}
	return &heldBackError{t.failed[len(t.failed)-1]}
}

// A heldBackError is a device that was not begun because another one, whose turn
// came before, has failed.
type heldBackError struct{ failed string }

func (e *heldBackError) Error() string {
	return fmt.Sprintf("%s failed, and after that no other device is begun that interrupts hosts", e.failed)
}

// takeTurn waits for the device's turn, where it needs one.
func (r *deviceRun) takeTurn(ctx context.Context) error {
	if r.turns == nil || r.turn {
		return nil
	}
	select {
	case r.turns.places <- struct{}{}:
		r.turn = true
	case <-ctx.Done():
		return interrupted(ctx)
	}
	var err error
	switch {
	case ctx.Err() != nil: // both had come about
		err = interrupted(ctx)
	case !r.begun:
		err = r.turns.over()
	}
	if err != nil {
		r.giveTurn()
	}
	return err
}

// giveTurn lets the next device begin.
func (r *deviceRun) giveTurn() {
	if r.turn {
		r.turn = false
		<-r.turns.places
	}
}

// ErrPaused is why a device was not begun after Pause of the Input has said so.
var ErrPaused = errors.New("not begun: a pause was requested")

// paused reports whether no device is to be begun any more.
func (in *Input) paused() bool { return in.Pause != nil && in.Pause() }

// consequence reports whether an error only follows from that of another device,
// or from a pause.
func consequence(err error) bool {
	return errors.As(err, new(*blockedError)) || errors.As(err, new(*heldBackError)) || errors.Is(err, ErrPaused)
}

// interrupts reports whether a step takes something from hosts while it is
// carried out, in the words of the input.
func (in *Input) interrupts(s *stepRun) bool {
	return s.Diff.Alone || in.Unavailable > 0 && s.Diff.Impact() > ImpactNone
}
