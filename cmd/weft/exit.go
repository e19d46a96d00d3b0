package main

import (
	"cmp"
	"context"
	"errors"

	"weft/internal/prove"
	"weft/internal/run"
	"weft/plan"
	"weft/plan/rollout"
)

// The exit codes of every command.
const (
	exitDone         = 0
	exitError        = 1
	exitChanges      = 2
	exitFailed       = 3
	exitChanged      = 4
	exitRolledBack   = 5
	exitStale        = 6
	exitHeld         = 7
	exitUnreachable  = 8
	exitInconclusive = 9
	exitWaiting      = 10
	exitPartial      = 11
	exitUsage        = 64
	exitInterrupted  = 130
	exitUnread       = 128 + 13 // as shells show programs whose reader has gone
)

func exitText(code int) string {
	return cmp.Or(map[int]string{
		exitDone:         "done",
		exitChanges:      "changes present",
		exitFailed:       "a validation or gate failed",
		exitChanged:      "devices changed; rollback not verified",
		exitRolledBack:   "rolled back; rollback verified",
		exitStale:        "the plan is stale: the files or a device changed since it was made",
		exitHeld:         "another run holds the lock on a device (see weft unlock)",
		exitUnreachable:  "a device cannot be reached or read, or has another identity",
		exitInconclusive: "inconclusive",
		exitWaiting:      "waiting: for an approval, a soak, a window, weft rollout resume or the store of runs",
		exitPartial:      "partial: everything measured passes, but something that is declared was not measured",
		exitUsage:        "usage: the command line is not valid",
		exitInterrupted:  "interrupted",
		exitUnread:       "broken pipe: output truncated",
	}[code], "error; nothing was changed")
}

// A codeError ends the run with a certain exit code.
type codeError struct {
	code int
	err  error
}

func (e *codeError) Error() string { return e.err.Error() }
func (e *codeError) Unwrap() error { return e.err }

func usage(err error) error { return &codeError{exitUsage, err} }

// A quietError ends the run with an exit code when all has been said already.
type quietError struct{ code int }

func (e *quietError) Error() string { return exitText(e.code) }

// A toldError is a quietError whose end machines are told in words of its own.
type toldError struct {
	code int
	text string
}

func (e *toldError) Error() string { return e.text }
func (e *toldError) Unwrap() error { return &quietError{e.code} }

func exitCode(ctx context.Context, err error) int {
	var coded *codeError
	var quiet *quietError
	var cause *run.Error
	switch {
	case err == nil:
		return exitDone
	case errors.As(err, &quiet):
		return quiet.code
	case errors.As(err, &coded):
		return coded.code
	case errors.As(err, &cause):
		return caused(cause)
	case errors.As(err, new(*run.BusyError)):
		return exitHeld
	case ctx.Err() != nil:
		return exitInterrupted
	}
	return exitError
}

// incomplete is the exit code of a plan that not every device was read for.
func incomplete(err error) int {
	if errors.As(err, new(*plan.LedgerError)) {
		return exitError // it was reached
	}
	return exitUnreachable
}

// applied is the exit code of what Apply did.
func applied(r *plan.Result, err error) int {
	var stale *plan.StaleError
	var unreachable *plan.UnreachableError
	var wrong *plan.WrongDeviceError
	var held *plan.HeldError
	switch {
	case err == nil:
		return exitDone
	case errors.As(err, &stale):
		return exitStale
	case r.Held(): // whatever else was done is proven
		return exitHeld
	}
	switch r.Outcome() {
	case plan.RunChanged:
		return exitChanged
	case plan.RunRolledBack:
		return exitRolledBack
	}
	switch {
	case errors.As(err, &unreachable), errors.As(err, &wrong):
		return exitUnreachable
	case errors.As(err, &held):
		return exitHeld
	case errors.Is(err, context.Canceled):
		return exitInterrupted
	}
	return exitError
}

// proven is the exit code of a verdict.
func proven(v prove.Verdict) int {
	switch v {
	case prove.Pass:
		return exitDone
	case prove.Fail:
		return exitFailed
	case prove.Partial, prove.NotMeasured:
		return exitPartial
	case prove.Inconclusive:
		return exitInconclusive
	}
	return exitInconclusive // never the code of a pass
}

// caused is the exit code of a cause.
func caused(e *run.Error) int {
	switch e.Cause {
	case run.Misused:
		return exitUsage
	case run.Taken:
		return exitHeld
	case run.Spent:
		return exitStale
	case run.Waits:
		return exitWaiting
	case run.Stopped:
		return exitInterrupted
	case run.Ended:
		return stopped(e.Result, e.Err)
	}
	return exitError
}

// stopped is the exit code of a rollout that does not go on, and of what Apply did.
func stopped(res *plan.Result, err error) int {
	var stop *rollout.Stop
	if !errors.As(err, &stop) {
		return applied(res, err)
	}
	switch {
	case stop.State == rollout.RolledBack:
		return exitRolledBack
	case stop.State == rollout.Waiting:
		return exitWaiting
	case stop.State == rollout.Paused && (stop.Verdict == rollout.Inconclusive || stop.Verdict == rollout.Partial):
		return exitInconclusive
	case stop.State == rollout.Paused:
		return exitWaiting
	case stop.Verdict == rollout.Fail && stop.Err == nil:
		return exitFailed
	}
	return exitChanged
}
