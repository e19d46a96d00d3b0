package plan

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync/atomic"
	"time"

	"weft/internal/slice"
)

// A deviceRun is the transaction on one device. Its own goroutine runs it and
// is the only one that calls the device.
type deviceRun struct {
	x       *execution
	address string
	device  Device
	steps   []*stepRun // in the plan's order
	needs   []*stepRun // one step on each other device that the steps need
	rank    int        // place of the last step in the plan's order
	wave    int        // begins when all transactions of earlier waves have ended
	earlier *deviceRun // the transaction on the same device before this one; nil: none

	failed   atomic.Bool   // the device did not commit and will not
	prepared chan struct{} // closed when all steps are applied, or the device failed
	ended    chan struct{} // closed when the transaction has ended

	turns   *turns // nil: it interrupts nobody
	turn    bool   // holds one of them
	working bool   // holds a slot
	begun   bool   // Begin was called
	touched bool   // Apply was called
	outcome DeviceOutcome
	err     error
}

func newDeviceRun(x *execution, address string, device Device) *deviceRun {
	return &deviceRun{
		x: x, address: address, device: device, outcome: DeviceUnchanged,
		prepared: make(chan struct{}), ended: make(chan struct{}),
	}
}

func (r *deviceRun) run(ctx context.Context) {
	defer r.rest()
	err := r.transact(ctx)
	if err != nil {
		r.failed.Store(true)
		if r.turn && ctx.Err() == nil && !consequence(err) {
			r.turns.fail(r.address)
		}
		for _, s := range r.steps {
			r.settle(s)
		}
	}
	closeOnce(r.prepared)
	if err != nil {
		r.putBack(ctx, err)
		close(r.ended)
		return
	}
	r.outcome = DeviceChanged
	close(r.ended)
	r.giveTurn()
	r.turns = nil // what is left only looks
	r.verify(ctx)
}

// transact applies the steps and commits. The transaction begins only when the
// first step can be applied: a timed revert should not run down while waiting.
func (r *deviceRun) transact(ctx context.Context) error {
	for i, s := range r.steps {
		err := r.ready(ctx, s)
		if i == 0 && r.earlier == nil && ctx.Err() == nil && r.x.in.paused() { // also where what it waited for was not begun
			s.err = ErrPaused
			return ErrPaused
		}
		if err != nil {
			s.err = fmt.Errorf("skip %s: %w", s.ID, err)
			r.emitError(EventApplyErrored, s.err, s.data())
			return s.err
		}
		if i == 0 {
			if err := r.reread(ctx); err != nil {
				return err
			}
			if err := r.begin(ctx); err != nil {
				return err
			}
		}
		if s.Diff.Empty() { // an earlier transaction has done it
			s.applied, s.outcome = true, StepDone
			r.settle(s)
			continue
		}
		if err := r.apply(ctx, s); err != nil {
			return err
		}
	}
	closeOnce(r.prepared)
	if err := r.agree(ctx); err != nil {
		err = fmt.Errorf("keep the changes of %s: %w", r.address, err)
		r.emitError(EventCommit, err, nil)
		return err
	}
	return r.commit(ctx)
}

// ready waits until the step may be applied.
func (r *deviceRun) ready(ctx context.Context, s *stepRun) error {
	for _, need := range s.needs {
		if err := r.wait(ctx, need.done); err != nil {
			return err
		}
		if !need.applied {
			return &blockedError{need.ID, "was not applied"}
		}
		if need.device != r && need.device.failed.Load() {
			return &blockedError{need.ID, "is being reverted"}
		}
		if need.device.wave < r.wave && need.outcome != StepDone {
			return &blockedError{need.ID, "is not proven"}
		}
	}
	return r.work(ctx)
}

// agree waits until nothing that the device's steps need can be expected to be
// reverted.
func (r *deviceRun) agree(ctx context.Context) error {
	for _, need := range r.needs {
		d := need.device
		if err := r.wait(ctx, d.prepared); err != nil {
			return err
		}
		if d.rank < r.rank {
			if err := r.wait(ctx, d.ended); err != nil {
				return err
			}
		}
		if d.failed.Load() {
			return &blockedError{need.ID, "is being reverted"}
		}
	}
	return r.work(ctx)
}

func (r *deviceRun) begin(ctx context.Context) error {
	steps := slice.Map(r.steps, func(s *stepRun) Step { return s.Step })
	err := r.call(ctx, "preparing", record{Do: "begin"}, func(ctx context.Context) error {
		r.begun = true
		return r.device.Begin(ctx, steps)
	})
	if err != nil {
		err = fmt.Errorf("begin on %s: %w", r.address, err)
		r.emitError(EventApplyErrored, err, nil)
		return err
	}
	return r.work(ctx) // told to stop meanwhile: before the first change is best
}

func (r *deviceRun) apply(ctx context.Context, s *stepRun) error {
	r.x.in.emit(Event{Type: EventApplyStart, Device: r.address,
		Message: s.ID.String() + " is being changed", Data: s.data()})
	intent := record{Do: "step", ID: s.ID.String(), Changes: s.Diff.Changes, Send: s.Diff.Send, Undo: s.Diff.Undo}
	tried := false
	err := r.call(ctx, "changing "+s.ID.Kind+"."+s.ID.Name, intent, func(ctx context.Context) error {
		tried, r.touched = true, true
		return r.device.Apply(ctx, s.Step)
	})
	if err != nil {
		s.err = err
		if tried {
			s.outcome = StepFailed
		}
		r.emitError(EventApplyErrored, fmt.Errorf("%s did not apply: %w", s.ID, err), s.data())
		return fmt.Errorf("apply %s: %w", s.ID, err)
	}
	s.applied, s.outcome = true, StepDone
	r.settle(s)
	r.x.in.emit(Event{Type: EventApplyComplete, Device: r.address,
		Message: s.ID.String() + " is changed", Data: s.data()})
	return nil
}

func (r *deviceRun) commit(ctx context.Context) error {
	committed := false
	err := r.call(ctx, "committing", record{Do: "commit"}, func(ctx context.Context) error {
		err := r.device.Commit(ctx)
		committed = err == nil || errors.As(err, new(*KeptError))
		return err
	})
	if err != nil {
		err = fmt.Errorf("commit on %s: %w", r.address, err)
		r.emitError(EventCommit, err, nil)
		if !committed {
			return err
		}
		r.err = err // something failed afterwards; the changes are there to stay
		return nil
	}
	r.x.in.emit(Event{Type: EventCommit, Device: r.address,
		Message: fmt.Sprintf("%s keeps %s", r.address, changes(len(r.steps))),
		Data:    map[string]any{"changes": len(r.steps)}})
	return nil
}

// putBack ends the transaction after a failure. It runs even if the run was
// told to stop, and even if the journal cannot be written any more.
func (r *deviceRun) putBack(ctx context.Context, cause error) {
	r.err = cause
	if !r.begun {
		return
	}
	r.stop()
	_ = r.takeTurn(context.WithoutCancel(ctx)) // a context without an end has no error, nor has what was begun
	r.x.aborts <- struct{}{}
	defer func() { <-r.x.aborts }()
	defer r.x.beat.begin(r.address, "putting back")()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), r.grace())
	defer cancel()

	_ = r.x.journal.write(record{Device: r.address, Do: "abort", State: journalStart})
	err := r.device.Abort(ctx)
	after := record{Device: r.address, Do: "abort", State: journalDone}
	taken := StepRolledBack
	if err != nil {
		after.State, after.Error = journalFailed, err.Error()
		taken = StepUnknown
		err = fmt.Errorf("put %s back: %w", r.address, err)
		r.outcome, r.err = DeviceUnknown, errors.Join(cause, err)
		r.emitError(EventRollback, err, nil)
	} else {
		if r.touched {
			r.outcome = DeviceRolledBack
		}
		r.x.in.emit(Event{Type: EventRollback, Level: "warn", Device: r.address,
			Message: r.address + " " + r.kept() + ": " + cause.Error(), Data: errorData(cause)})
	}
	_ = r.x.journal.write(after)
	for _, s := range r.steps {
		if s.applied {
			s.outcome = taken
		}
	}
}

// grace is how long putting the device back may take.
func (r *deviceRun) grace() time.Duration {
	return max(stopGrace, r.device.Grace())
}

// verify proves the effects. What is not proven stays: reverting committed
// changes is a decision for people.
func (r *deviceRun) verify(ctx context.Context) {
	errs := []error{r.err}
	for _, s := range r.steps {
		err := r.work(ctx)
		if err == nil {
			err = r.detached(ctx, "verifying "+s.ID.Kind+"."+s.ID.Name, s.Resource.Verify)
		}
		if err != nil {
			s.outcome, s.err = StepFailedVerify, err
			err = fmt.Errorf("verify %s: %w", s.ID, err)
			errs = append(errs, err)
			r.emitError(EventApplyErrored, err, s.data())
		}
	}
	r.err = errors.Join(errs...)
}

// call does one thing to the device, in the journal.
func (r *deviceRun) call(ctx context.Context, what string, intent record, do func(context.Context) error) error {
	intent.Device = r.address
	return r.x.journal.around(intent, func() error { return r.detached(ctx, what, do) })
}

// detached calls the device so that the end of ctx does not cut the call short.
func (r *deviceRun) detached(ctx context.Context, what string, do func(context.Context) error) error {
	defer r.x.beat.begin(r.address, what)()
	ctx, cancel := outlive(ctx)
	defer cancel()
	return do(ctx)
}

// wait waits for the channel to close, without a slot.
func (r *deviceRun) wait(ctx context.Context, closed <-chan struct{}) error {
	select {
	case <-closed:
		return nil
	default:
	}
	r.rest()
	select {
	case <-closed:
		return nil
	case <-ctx.Done():
		return interrupted(ctx)
	}
}

// work takes a slot, and before that a turn where the device needs one, unless
// the run was told to stop.
func (r *deviceRun) work(ctx context.Context) error {
	if ctx.Err() != nil {
		return interrupted(ctx)
	}
	if r.working {
		return nil
	}
	if err := r.takeTurn(ctx); err != nil {
		return err
	}
	select {
	case r.x.slots <- struct{}{}:
		r.working = true
		return nil
	case <-ctx.Done():
		r.giveTurn()
		return interrupted(ctx)
	}
}

// rest gives the slot and the turn back, as far as there are any.
func (r *deviceRun) rest() {
	r.stop()
	r.giveTurn()
}

// stop gives the slot back, if there is one.
func (r *deviceRun) stop() {
	if r.working {
		r.working = false
		<-r.x.slots
	}
}

// settle wakes those who wait for the step.
func (r *deviceRun) settle(s *stepRun) {
	if !s.settled {
		s.settled = true
		close(s.done)
	}
}

func (r *deviceRun) emitError(t EventType, err error, data map[string]any) {
	all := errorData(err)
	maps.Copy(all, data)
	r.x.in.emit(Event{Type: t, Level: "error", Device: r.address, Message: err.Error(), Data: all})
}

func (s *stepRun) data() map[string]any {
	return stepData(s.ID, s.place, s.Diff.Changes, s.Diff.Send)
}

func interrupted(ctx context.Context) error {
	return fmt.Errorf("interrupted: %w", context.Cause(ctx))
}

// closeOnce closes a channel that only the caller's goroutine closes.
func closeOnce(c chan struct{}) {
	select {
	case <-c:
	default:
		close(c)
	}
}

// changes counts them.
func changes(n int) string {
	if n == 1 {
		return "1 change"
	}
	return fmt.Sprintf("%d changes", n)
}
