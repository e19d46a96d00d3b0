package run

import (
	"errors"

	"weft/plan"
)

// A Cause is why a plan was not carried out, or not to its end.
type Cause int

// The causes. Whoever has exit codes gives each its own.
const (
	// Ended: what Apply returned tells; Result says what became of the devices. A
	// *rollout.Stop in the error says why a rollout does not go on.
	Ended Cause = iota
	// Misused: something was asked for that does not go together, or is not there.
	Misused
	// Taken: another weft is first.
	Taken
	// Waits: a run of the same directory waits for an order.
	Waits
	// None: there is no run to go on with.
	None
	// Spent: the plan has started its run already.
	Spent
	// Stopped: it was paused on request, and what was begun is done.
	Stopped
)

// An Error is the end of work on a plan, with its cause.
type Error struct {
	Cause  Cause
	Result *plan.Result // of Ended; never nil there
	Err    error
}

func (e *Error) Error() string { return e.Err.Error() }

// Unwrap returns what happened.
func (e *Error) Unwrap() error { return e.Err }

// ended is what became of applying; a nil result: nothing was.
func ended(res *plan.Result, err error) error {
	if res == nil {
		if why := new(Error); errors.As(err, &why) && why.Cause == Waits {
			return err // nothing was begun: no worker came
		}
		res = &plan.Result{}
	}
	return &Error{Cause: Ended, Result: res, Err: err}
}

func because(c Cause, err error) error { return &Error{Cause: c, Err: err} }
