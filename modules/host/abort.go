package host

import (
	"context"
	"errors"
	"fmt"
	"time"

	"weft/internal/hint"
	"weft/internal/remote"
	"weft/internal/wait"
	"weft/plan"
)

// absence is how long a server that is being put back may be away: it may be
// restarting.
const absence = 2 * time.Minute

// Abort implements plan.Device: the steps are undone in reverse order and the
// states read again must be what they were. A connection that was lost is made
// again, once.
func (d *Machine) Abort(ctx context.Context) error {
	a := &abortion{Machine: d}
	var errs []error
	for i := len(d.done) - 1; i >= 0; i-- {
		s := d.done[i]
		for _, step := range s.undo() {
			err := a.reach(ctx, func() error { return d.overtaken(do(ctx, d.behind(d.host), step)) })
			if held := new(plan.HeldError); errors.As(err, &held) {
				return err // what is there by now is another's, and so is what it should be
			}
			if err != nil {
				errs = append(errs, fmt.Errorf("undo of %s: %w", s.ID, err))
			}
		}
	}
	// An undo of a step that had not taken effect may fail: what counts is
	// what the server says now.
	err := a.reach(ctx, func() error { return d.restored(ctx) })
	if err != nil && a.away == nil {
		err = d.settled(ctx, func() error { return d.restored(ctx) })
	}
	if err != nil {
		if a.away == nil {
			err = errors.Join(append(errs, err)...)
		}
		if d.armed {
			err = hint.Wrap(err, "the server takes changes of its NICs back by itself within %s; plan again after that", revertAfter)
		}
		return err
	}
	err = a.reach(ctx, func() error { return d.forget(ctx) })
	err = errors.Join(err, d.release(ctx))
	d.letGo(ctx)
	return err
}

// An abortion puts a server back over the connection that there is, or over one
// more.
type abortion struct {
	*Machine
	again bool  // the second connection was asked for
	away  error // why there is none
}

// reach does something on the server, and once more when the connection turns
// out to be lost.
func (a *abortion) reach(ctx context.Context, do func() error) error {
	if a.away != nil {
		return a.away
	}
	err := do()
	if a.again || !errors.As(err, new(*remote.UnreachableError)) {
		return err
	}
	a.again = true
	if a.away = a.redial(ctx); a.away != nil {
		return a.away
	}
	return do()
}

// redial replaces the login, patiently.
func (d *Machine) redial(ctx context.Context) error {
	for deadline := time.Now().Add(d.absence); ; {
		host, close, err := d.login(ctx, true)
		if err == nil {
			old := d.close
			d.host, d.close = host, func() error { return errors.Join(close(), old()) }
			return nil
		}
		if !errors.As(err, new(*remote.UnreachableError)) || ctx.Err() != nil || time.Now().After(deadline) {
			return hint.Wrap(fmt.Errorf("log in again: %w", err), "when the server is back, apply again: its ledger has the unfinished change")
		}
		wait.For(ctx, time.Second)
	}
}

// forget puts the ledger back to what it was before the transaction.
func (d *Machine) forget(ctx context.Context) error {
	if d.lease == nil { // nothing was begun
		return nil
	}
	if d.armedHere {
		if err := d.disarm(ctx, d.host); err != nil {
			return err
		}
	}
	d.leaves = false
	before := d.before
	before.gone, before.Serial = before.Serial == 0, d.ledgers.own.Serial+1 // gone: there was none
	return d.write(ctx, before, d.host)
}

func (d *Machine) restored(ctx context.Context) error {
	states, _, err := read(ctx, d.host, d.resources(), remote.Seen{})
	if err != nil {
		return err
	}
	for i, s := range d.done {
		if err := s.Resource.(Resource).restored(s.Have, states[i]); err != nil {
			return fmt.Errorf("%s is not restored: %w", s.ID, err)
		}
	}
	return nil
}
